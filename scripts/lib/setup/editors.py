"""The real VS Code, as its server and web workbench, and a browser for it: 600 MB, and so on demand."""
import json, shutil

from .cache import install_pinned
from .commands import run, log_progress
from .network import ensure_program, ensure_package
from .node import WHEEL, install_node, run_npm
from .paths import ROOT

SOURCES = ROOT / "scripts/editors"
# (program, package) of the browser.
BROWSER = ("chromium", "chromium")
# The module that writes VS Code's logs is part of the folder since 1.
LAYOUT = 1


def make_code_server(scratch):
    """VS Code's server and web workbench. The install scripts of its packages are not needed, and so not run."""
    made = scratch / "made"
    shutil.copytree(SOURCES, made)
    log_progress("fetching VS Code's server (about 600 MB on disk)")
    # VS Code's own packages come with their list, which `ci` thinks is incomplete.
    inside = made / "node_modules/code-server/lib/vscode"
    for folder, way in ((made, "ci"), (inside, "install")):
        run_npm("VS Code's server (code-server)", way, "--omit=dev", "--ignore-scripts", cwd=folder)
    build_vscode_log(inside / "node_modules")
    return made


def build_vscode_log(modules):
    """VS Code writes its logs, and shows those of extensions, with a native module, whose package has only its source."""
    module, napi = modules / "@vscode/spdlog", modules / "@vscode/spdlog/node_modules/node-addon-api"
    built = module / "build/Release/spdlog.node"
    ensure_program("g++", "build-essential")
    log_progress("building the module that writes VS Code's logs")
    built.parent.mkdir(parents=True, exist_ok=True)
    names = ["NAPI_CPP_EXCEPTIONS", "NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS", "FMT_CONSTEVAL=", "NODE_GYP_MODULE_NAME=spdlog"]
    folders = [install_node() / "include/node", napi, module / "deps/spdlog/include"]
    run("g++", "-std=c++17", "-O1", "-shared", "-fPIC", *(f"-D{name}" for name in names), *(f"-I{folder}" for folder in folders),
        module / "src/main.cc", module / "src/logger.cc", "-o", built)


def list_pins():
    return [WHEEL, LAYOUT, *(json.loads((SOURCES / name).read_text()) for name in ("package.json", "package-lock.json"))]


def install_editors():
    """The real VS Code and a browser for it."""
    code_server = install_pinned("code-server", list_pins(), make_code_server)
    return {"node": str(install_node() / "bin/node"), "chromium": ensure_package(*BROWSER),
            "codeServer": str(code_server / "node_modules/code-server/out/node/entry.js")}
