"""Requirements of the machine, checked before any download or build. Must also run on a Python that is too old."""
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))
# The wheels of scripts/requirements.txt are for this interpreter.
PYTHON = (3, 11)
# The oldest for the parts of set-up that fetch no wheel for it: `scripts/setup --demo` and `--dotnet`.
PYTHON_OF_PARTS = (3, 10)
# The oldest with all that tests of hostile repositories use; Debian 12 has it.
GIT = (2, 39)
# (program, package of Debian, option that prints the version).
PROGRAMS = [("git", "git", "--version"), ("cc", "build-essential", "--version"), ("g++", "build-essential", "--version"),
            ("make", "make", "--version"), ("tar", "tar", "--version"), ("xz", "xz-utils", "--version"), ("flock", "util-linux", "--version")]
# Megabytes on disk after `./check`: the cache, and the target folder. The smaller numbers are what a run adds where all is built.
CACHE_MB, TARGET_MB, RERUN_MB = 3000, 9000, 1000


def read_output(*command):
    """Returns the output of a command in the repository; None if it fails."""
    # rustup must not download a toolchain while we only ask.
    environment = dict(os.environ, RUSTUP_AUTO_INSTALL="0")
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except OSError:
        return None
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None


def find_version(text):
    found = re.search(r"\d+(\.\d+)+", text or "")
    return found.group() if found else None


def split_version(version):
    return tuple(int(part) for part in version.split("."))


def format_problem(tool, found, needed, remedy):
    return "%s: found %s, needed %s; %s" % (tool, found or "none", needed, remedy)


def check_python():
    """Returns the problem of the running interpreter, or None."""
    if sys.version_info[:2] == PYTHON:
        return None
    wanted = "%d.%d" % PYTHON
    remedy = "put a Python %s first on PATH as `python3` (Debian 12 has one; `pyenv install %s` or `uv python install %s` bring one)"
    return format_problem("python3 (%s)" % sys.executable, "%d.%d.%d" % sys.version_info[:3], wanted, remedy % (wanted, wanted, wanted))


def require_python(script, oldest=PYTHON):
    """Exits with the remedy on an interpreter that a script cannot run on, before the script imports what that one lacks."""
    if sys.version_info[:2] < oldest:
        text = "%s: Python %d.%d (%s) is too old; run it with Python %d.%d or newer"
        sys.exit(text % ((script,) + tuple(sys.version_info[:2]) + (sys.executable,) + oldest))


def read_pinned_rust():
    with open(os.path.join(ROOT, "rust-toolchain.toml")) as file:
        return re.search(r'^channel = "(.*)"', file.read(), re.MULTILINE).group(1)


def read_required_nextest():
    with open(os.path.join(ROOT, ".config/nextest.toml")) as file:
        found = re.search(r'nextest-version.*?"([0-9.]+)"', file.read())
    return found.group(1) if found else None


def check_rust(tool):
    """Returns (version, path, problem) of `cargo` or `rustc`."""
    wanted, path = read_pinned_rust(), shutil.which(tool)
    found = find_version(read_output(tool, "--version"))
    if found == wanted:
        return found, path, None
    if shutil.which("rustup"):
        remedy = "`rustup toolchain install %s` brings it" % wanted
        found = found or ("a rustup without that toolchain" if path else None)
    else:
        remedy = "install rustup (https://rustup.rs), and then `rustup toolchain install %s`" % wanted
    return found, path, format_problem(tool, found, wanted + " (rust-toolchain.toml)", remedy)


def check_nextest():
    path, wanted = shutil.which("cargo-nextest"), read_required_nextest()
    if path is None:
        return None, None, None
    found = find_version(read_output(path, "--version"))
    if wanted and found and split_version(found) < split_version(wanted):
        return found, path, format_problem("cargo-nextest", found, "%s or newer (.config/nextest.toml)" % wanted,
                                    "install a newer one (https://nexte.st), or remove it: `cargo test` then runs the tests")
    return found, path, None


def check_program(name, package, option):
    path = shutil.which(name)
    found = find_version(read_output(name, option)) if path else None
    if path is None:
        return None, None, format_problem(name, None, "any version", "install the package `%s`" % package)
    if name == "git" and found and split_version(found)[:2] < GIT:
        return found, path, format_problem(name, found, "%d.%d or newer" % GIT, "install a newer `git`")
    return found, path, None


def check_pip():
    try:
        from importlib import metadata, util
        if util.find_spec("pip"):
            return metadata.version("pip"), os.path.dirname(util.find_spec("pip").origin), None
    except Exception:  # An interpreter that is too old is reported elsewhere.
        pass
    return None, None, format_problem("pip (of %s)" % sys.executable, None, "any version",
                               "install the package `python3-pip`, or run `python3 -m ensurepip`")


def check_disk(cache, target):
    """(megabytes free, folder, problem) for each file system that is written to. What exists already is not counted again."""
    needed = {}
    ready, built = os.path.exists(os.path.join(cache, "env.json")), os.path.isdir(os.path.join(target, "debug"))
    for folder, megabytes in ((cache, RERUN_MB if ready else CACHE_MB), (target, RERUN_MB if built else TARGET_MB)):
        while not os.path.exists(folder):
            folder = os.path.dirname(folder)
        device = os.stat(folder).st_dev
        known, first = needed.get(device, (0, folder))
        needed[device] = (known + megabytes, first)
    rows = []
    for megabytes, folder in needed.values():
        free = shutil.disk_usage(folder).free // 1000000
        remedy = "make room, or name folders on another disk in TANDEM_CACHE and CARGO_TARGET_DIR"
        rows.append((free, folder, None if free >= megabytes else
                     format_problem("disk of %s" % folder, "%d MB free" % free, "about %d MB" % megabytes, remedy)))
    return rows
