"""Builds the two programs for old C libraries, and generates man pages and completions with them."""
import os, pathlib, re, subprocess, sys

from setup.commands import log_progress
from setup.paths import ROOT
from tools import install_tool

from .facts import GLIBC, PROGRAMS

# Page -> its path below `share`.
PAGE_PATHS = {"man": "man/man1/{}.1", "bash": "bash-completion/completions/{}", "zsh": "zsh/site-functions/_{}",
         "fish": "fish/vendor_completions.d/{}.fish"}


def has_library(platform):
    """Whether Rust's standard library for the platform is installed: `rustup target add` brings it."""
    done = subprocess.run(["rustc", "--print", "target-libdir", "--target", platform.rust], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    return done.returncode == 0 and any(pathlib.Path(done.stdout.strip()).glob("libstd-*"))


def build_programs(platform):
    """Builds for the platform: returns name -> bytes, and their folder. The binaries do not contain the paths of this build."""
    if not has_library(platform):
        sys.exit(f"release: Rust's library for {platform.machine} is missing: run `rustup target add {platform.rust}`")
    zigbuild, zig = install_tool("cargo-zigbuild"), install_tool("zig")
    home = pathlib.Path(os.environ.get("CARGO_HOME") or pathlib.Path.home() / ".cargo").resolve()
    remapped = [f"--remap-path-prefix={home}=/cargo", f"--remap-path-prefix={ROOT}=/tandem"]
    environment = {**os.environ, "CARGO_ZIGBUILD_ZIG_PATH": str(zig), "PATH": f"{zigbuild.parent}:{os.environ['PATH']}",
                   "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(remapped), "SOURCE_DATE_EPOCH": "1577836800"}
    log_progress(f"building the programs for {platform.machine}, glibc {'.'.join(map(str, GLIBC))} and later")
    command = ["cargo", "zigbuild", "--release", "--locked", "--target", f"{platform.rust}.{'.'.join(map(str, GLIBC))}",
               "-p", "tandem-adapter", "-p", "tandem-bridge"]
    done = subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"release: the programs for {platform.machine} were not built")
    folder = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / platform.rust / "release"
    built = {name: (folder / name).read_bytes() for name in PROGRAMS}
    for name, content in built.items():
        too_new = [version for version in list_glibc_versions(content) if version > GLIBC]
        if too_new:
            sys.exit(f"release: `{name}` needs glibc {max(too_new)}, and is to run on {GLIBC}")
        for path in (str(home), str(ROOT)):
            if path.encode() in content:
                sys.exit(f"release: `{name}` contains the path {path}")
    return built, folder


def list_glibc_versions(program):
    """Lists the versions of the symbols that a program imports from the C library."""
    return {tuple(map(int, version.split(b"."))) for version in re.findall(rb"GLIBC_(\d+(?:\.\d+)+)\0", program)}


def generate_pages(folder):
    """Generates the pages: path below `share` -> bytes."""
    made = {}
    for name in PROGRAMS:
        for page, path in PAGE_PATHS.items():
            text = subprocess.run([folder / name, "generate", page], stdout=subprocess.PIPE, check=True).stdout
            made[path.format(name)] = text
    return made
