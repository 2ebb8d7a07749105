"""Builds the two programs for old C libraries, and what they print of themselves: man pages and completions."""
import os, pathlib, re, subprocess, sys

from setup.commands import say
from setup.places import ROOT
from tools import tool

from .facts import GLIBC, PROGRAMS

# page -> where it goes beneath `share`
PAGES = {"man": "man/man1/{}.1", "bash": "bash-completion/completions/{}", "zsh": "zsh/site-functions/_{}",
         "fish": "fish/vendor_completions.d/{}.fish"}


def has_library(platform):
    """Whether Rust's standard library for the platform is installed: `rustup target add` brings it."""
    done = subprocess.run(["rustc", "--print", "target-libdir", "--target", platform.rust], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    return done.returncode == 0 and any(pathlib.Path(done.stdout.strip()).glob("libstd-*"))


def programs(platform):
    """Builds for the platform: returns name -> bytes, and their folder. The binaries do not contain the paths of this build."""
    if not has_library(platform):
        sys.exit(f"release: Rust's library for {platform.machine} is missing: run `rustup target add {platform.rust}`")
    zigbuild, zig = tool("cargo-zigbuild"), tool("zig")
    home = pathlib.Path(os.environ.get("CARGO_HOME") or pathlib.Path.home() / ".cargo").resolve()
    remapped = [f"--remap-path-prefix={home}=/cargo", f"--remap-path-prefix={ROOT}=/tandem"]
    environment = {**os.environ, "CARGO_ZIGBUILD_ZIG_PATH": str(zig), "PATH": f"{zigbuild.parent}:{os.environ['PATH']}",
                   "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(remapped), "SOURCE_DATE_EPOCH": "1577836800"}
    say(f"building the programs for {platform.machine}, glibc {'.'.join(map(str, GLIBC))} and later")
    command = ["cargo", "zigbuild", "--release", "--locked", "--target", f"{platform.rust}.{'.'.join(map(str, GLIBC))}",
               "-p", "tandem-adapter", "-p", "tandem-bridge"]
    done = subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"release: the programs for {platform.machine} were not built")
    folder = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / platform.rust / "release"
    built = {name: (folder / name).read_bytes() for name in PROGRAMS}
    for name, content in built.items():
        too_new = [version for version in glibc_versions(content) if version > GLIBC]
        if too_new:
            sys.exit(f"release: `{name}` needs glibc {max(too_new)}, and is to run on {GLIBC}")
        for place in (str(home), str(ROOT)):
            if place.encode() in content:
                sys.exit(f"release: `{name}` has the path {place} in it")
    return built, folder


def glibc_versions(program):
    """The versions of symbols that it takes from the C library."""
    return {tuple(map(int, version.split(b"."))) for version in re.findall(rb"GLIBC_(\d+(?:\.\d+)+)\0", program)}


def pages(folder):
    """path beneath `share` -> bytes."""
    made = {}
    for name in PROGRAMS:
        for page, place in PAGES.items():
            text = subprocess.run([folder / name, "generate", page], stdout=subprocess.PIPE, check=True).stdout
            made[place.format(name)] = text
    return made
