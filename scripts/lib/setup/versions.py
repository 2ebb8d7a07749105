"""Versions of the installed tools, for env.json. Queries them in parallel."""
import concurrent.futures, json, pathlib, re

from . import adapters
from .commands import run_command

VERSION_PATTERN = re.compile(r"\d+(?:\.\d+)+\S*")
# Key in env.json -> arguments that print the version.
VERSION_COMMANDS = {
    "python": ["--version"], "gdb": ["--version"], "dlv": ["version"], "ruby": ["--version"], "perl": ["-e", "print $^V"],
    "node": ["--version"], "neovim": ["--version"],
}


def query_version(*command):
    try:
        status, output = run_command(command)
    except OSError:
        return "missing"
    found = VERSION_PATTERN.search(output)
    return found[0].rstrip(",)") if status == 0 and found else "unknown"


def read_package_version(folder):
    file = folder / "package.json"
    return json.loads(file.read_text())["version"] if file.exists() else "missing"


def collect_versions(environment):
    """name -> [version, path] of the tools in `environment`."""
    commands = {key: (environment[key], *words) for key, words in VERSION_COMMANDS.items() if environment.get(key)}
    for name, path in environment.get("tools", {}).items():
        commands[name] = (path, "version" if name == "go" else "--version")
    if environment.get("lldbDap"):
        # lldb-dap itself prints no version.
        commands["lldbDap"] = (pathlib.Path(environment["lldbDap"]).resolve().parent / "lldb", "--version")
    if environment.get("editors"):
        commands["chromium"] = (environment["editors"]["chromium"], "--version")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        versions = dict(zip(commands, pool.map(lambda command: query_version(*command), commands.values())))
    paths = {**environment, **environment.get("tools", {}), **(environment.get("editors") or {})}
    result = {name: [version, paths[name]] for name, version in versions.items()}
    return {**result, **collect_known_versions(environment)}


def collect_known_versions(environment):
    """Versions that are known without running a command."""
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
        result["npm"] = [read_package_version(root / "lib/node_modules/npm"), str(root / "bin/npm")]
    if environment.get("python"):
        for name in ("debugpy", "bash-dap"):
            result[name] = [adapters.WHEELS[name][0].partition("==")[2], environment["python"]]
    if environment.get("editors"):
        server = pathlib.Path(environment["editors"]["codeServer"]).parents[2]
        result["code-server"] = [read_package_version(server), environment["editors"]["codeServer"]]
    return result
