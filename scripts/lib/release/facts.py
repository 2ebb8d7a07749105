"""What packages say of Tandem and its publisher: from Cargo.toml and publisher.json, the one place for each fact."""
import dataclasses, json, tomllib

from setup.paths import ROOT

PUBLISHER = json.loads((ROOT / "publisher.json").read_text())
WORKSPACE = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
VERSION = WORKSPACE["package"]["version"]
LICENCE = WORKSPACE["package"]["license"]
PROGRAMS = ("tandem-mcp", "tandem-dap")
SUMMARY = "A debugger that an editor and an AI agent share: .NET, Python, C, C++, Rust, Go, JavaScript, Ruby"
# The MCP registry wants at most 100 characters.
SHORT = "Debug .NET, Python, Rust, C++, Go and JavaScript, in the session that an editor has open."
DESCRIPTION = """One live debug session that an editor and an AI agent share: both see each breakpoint, each step and each line of input.
tandem-mcp offers it as MCP tools, tandem-dap as a debug adapter. .NET is debugged by a built-in engine, other languages
through their own adapters: Python, C, C++, Rust, Go, Ruby, JavaScript, shell scripts."""
# The time of every packed file: packages of one input are the same, byte for byte.
EPOCH = 1577836800
# The oldest C library that the programs run on.
GLIBC = (2, 28)


@dataclasses.dataclass(frozen=True)
class Platform:
    """A platform with programs, and its name in each registry."""
    # npm, NuGet and VS Code agree on it.
    name: str
    rust: str
    machine: str
    # Images have the same name for it.
    debian: str
    node_cpu: str
    wheel: str
    mason: str


X64 = Platform("linux-x64", "x86_64-unknown-linux-gnu", "x86-64", "amd64", "x64", "py3-none-manylinux_2_28_x86_64", "linux_x64_gnu")
# Without the .NET engine, which refuses it by name.
ARM64 = Platform("linux-arm64", "aarch64-unknown-linux-gnu", "AArch64", "arm64", "arm64", "py3-none-manylinux_2_28_aarch64", "linux_arm64_gnu")
PLATFORMS = (X64, ARM64)
DOWNLOADS = f"{PUBLISHER['repository']}/releases/download/v{VERSION}"
LICENCES = ("LICENSE-MIT", "LICENSE-APACHE")


def read_file(name):
    return (ROOT / name).read_bytes()


def dumps(value):
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
