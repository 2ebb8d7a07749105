"""The versions of what set-up found, asked once, side by side, for env.json."""
import concurrent.futures, json, pathlib, re

from . import adapters
from .commands import start

NUMBER = re.compile(r"\d+(?:\.\d+)+\S*")
# key in env.json -> what prints the version.
ASKED = {
    "python": ["--version"], "gdb": ["--version"], "dlv": ["version"], "ruby": ["--version"], "perl": ["-e", "print $^V"],
    "node": ["--version"], "neovim": ["--version"],
}


def answer(*command):
    try:
        status, output = start(command)
    except OSError:
        return "missing"
    found = NUMBER.search(output)
    return found[0].rstrip(",)") if status == 0 and found else "unknown"


def of_package(folder):
    file = folder / "package.json"
    return json.loads(file.read_text())["version"] if file.exists() else "missing"


def found(environment):
    """name -> [version, path] of the tools in `environment`."""
    asked = {key: (environment[key], *words) for key, words in ASKED.items() if environment.get(key)}
    for name, path in environment.get("tools", {}).items():
        asked[name] = (path, "version" if name == "go" else "--version")
    if environment.get("lldbDap"):
        # lldb-dap itself prints no version.
        asked["lldbDap"] = (pathlib.Path(environment["lldbDap"]).resolve().parent / "lldb", "--version")
    if environment.get("editors"):
        asked["chromium"] = (environment["editors"]["chromium"], "--version")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        versions = dict(zip(asked, pool.map(lambda command: answer(*command), asked.values())))
    paths = {**environment, **environment.get("tools", {}), **(environment.get("editors") or {})}
    result = {name: [version, paths[name]] for name, version in versions.items()}
    return {**result, **fixed(environment)}


def fixed(environment):
    """Those that are known without running something."""
    result = {}
    for key in ("dotnet31", "dotnet9"):
        if environment.get(key):
            runtimes = pathlib.Path(environment[key]).parent / "shared/Microsoft.NETCore.App"
            result[key] = [", ".join(sorted(runtime.name for runtime in runtimes.glob("*"))) or "missing", environment[key]]
    if installed := environment.get("installed"):
        result["dotnet"] = [f"{installed['sdk']} (runtimes {', '.join(installed['runtimes'])})", installed["dotnet"]]
    for version, path in (("rubyDebug", "ruby"), ("rdbg192Debug", "rdbg192")):
        if environment.get(version):
            result[f"debug of {path}"] = [environment[version], environment[path]]
    if environment.get("jsDebug"):
        package = adapters.JS_DEBUG[0].rpartition("@")
        result["js-debug"] = [f"of {package[0]} {package[2]}", environment["jsDebug"]]
    if environment.get("node"):
        root = pathlib.Path(environment["node"]).parents[1]
        result["npm"] = [of_package(root / "lib/node_modules/npm"), str(root / "bin/npm")]
    if environment.get("python"):
        for name in ("debugpy", "bash-dap"):
            result[name] = [adapters.WHEELS[name][0].partition("==")[2], environment["python"]]
    if environment.get("editors"):
        server = pathlib.Path(environment["editors"]["codeServer"]).parents[2]
        result["code-server"] = [of_package(server), environment["editors"]["codeServer"]]
    return result
