"""The fixture programs: rebuilt when one of their sources changes, all stale ones in one run of a compiler."""
import hashlib, json, os, pathlib, shutil, tempfile

from . import one_file
from .cache import scratch_folder
from .commands import run, log_progress, run_command
from .dotnet import parse_version
from .lock import lock_handles
from .paths import CACHE, ROOT, get_cache_variables

# Runs a build and then ends the compiler's server that it left, also where set-up itself was killed: the server inherits the lock of the cache,
# and would hold it for ten minutes.
BUILD = ("sh", "-c", '"$@"; status=$?; trap "" TERM; kill 0; exit "$status"', "build")
# Programs whose build fails on purpose; their tests build them.
EXCLUDED_PROGRAMS = {"broken"}


def create_dotnet_environment(root, openssl):
    return {
        **os.environ, "DOTNET_ROOT": str(root), "LD_LIBRARY_PATH": str(openssl), "HOME": str(CACHE / "home"),
        "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1", "DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1",
        "DOTNET_SKIP_FIRST_TIME_EXPERIENCE": "1", "DOTNET_GENERATE_ASPNET_CERTIFICATE": "false",
        "MSBUILDDISABLENODEREUSE": "1", "DOTNET_TieredPGO": "0",
    }


def run_build(*command, environment, folder=None):
    """Runs a build, and removes the temporary files of its servers, which end with it."""
    # Not in the cache: the paths of sockets are short.
    with tempfile.TemporaryDirectory(prefix="tandem-build-", ignore_cleanup_errors=True) as temporary:
        run(*BUILD, *command, env={**environment, "TMPDIR": temporary}, cwd=folder, pass_fds=lock_handles)


def compute_stamp(folder):
    """Returns a hash of the program's sources and build settings."""
    digest = hashlib.sha256(str(ROOT).encode())
    shared = [file for file in [folder.parent / "Directory.Build.props"] if file.exists()]
    patterns = ("*.cs", "*.vb", "*.cshtml", "*.*proj", "*.json")
    for file in sorted([*(file for pattern in patterns for file in folder.rglob(pattern)), *shared]):
        digest.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def build_together(dotnet, folders, get_output_folder, environment, properties=()):
    """Builds the projects of these folders in one run of MSBuild, two at a time; each into its own folder of the cache."""
    def project(folder):
        out = get_output_folder(folder)
        return (f'<Program Include="{next(folder.glob(f"{folder.name}.*proj"))}">'
                f"<AdditionalProperties>TandemObj={out}/obj/;OutputPath={out}/bin/</AdditionalProperties></Program>")

    # One server compiles all of them: half the work.
    same = ";".join(["UseSharedCompilation=true", "_CommandLineDefinedOutputPath=true", *properties])
    text = f"""<Project><ItemGroup>{"".join(map(project, folders))}</ItemGroup>
<Target Name="All">
  <MSBuild Projects="@(Program)" Targets="Restore" Properties="{same};Stage=Restore" BuildInParallel="true" />
  <MSBuild Projects="@(Program)" Targets="Build" Properties="{same}" BuildInParallel="true" />
</Target></Project>"""
    with scratch_folder("build") as scratch:
        file = scratch / "all.proj"
        file.write_text(text)
        run_build(dotnet, "msbuild", "-nologo", "-v:q", "-m:2", "-nodeReuse:false", "-t:All", file, environment=environment, folder=scratch)


def build_stale(what, dotnet, folders, get_output_folder, get_stamp, environment, properties=()):
    """Builds the programs whose sources have changed; returns name -> path of the .dll."""
    stale = []
    for folder in folders:
        stamp = get_output_folder(folder) / ".stamp"
        if not stamp.exists() or stamp.read_text() != get_stamp(folder):
            shutil.rmtree(get_output_folder(folder), ignore_errors=True)
            stale.append(folder)
    if stale:
        log_progress(f"building {len(stale)} {what}: {' '.join(folder.name for folder in stale)}")
        build_together(dotnet, stale, get_output_folder, environment, properties)
        for folder in stale:
            (get_output_folder(folder) / ".stamp").write_text(get_stamp(folder))
    return {folder.name: str(get_output_folder(folder) / "bin" / f"{folder.name}.dll") for folder in folders}


def list_program_folders(group):
    return [folder for folder in sorted((ROOT / "fixtures/programs" / group).iterdir()) if folder.is_dir() and folder.name not in EXCLUDED_PROGRAMS]


def build_programs(sdk, openssl, only=None):
    """Builds the programs of `fixtures/programs/dotnet`, or only the named ones."""
    folders = [folder for folder in list_program_folders("dotnet") if only is None or folder.name in only]
    (CACHE / "home").mkdir(exist_ok=True)
    return build_stale("programs", sdk / "dotnet", folders, lambda folder: CACHE / "programs" / folder.name,
                       compute_stamp, create_dotnet_environment(sdk, openssl))


def create_installed_environment(installed):
    (CACHE / "home").mkdir(exist_ok=True)
    return {
        **os.environ, "DOTNET_ROOT": str(pathlib.Path(installed["dotnet"]).parent), "HOME": str(CACHE / "home"),
        "DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1", "DOTNET_GENERATE_ASPNET_CERTIFICATE": "false",
        "DOTNET_CLI_USE_MSBUILD_SERVER": "0", "MSBUILDDISABLENODEREUSE": "1", "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1",
        # A build ends before profiles pay.
        "DOTNET_TieredPGO": "0",
    }


def build_with_installed(installed, only):
    """These of `fixtures/programs/dotnet`, built by the user's SDK for its own version: nothing has to be fetched for it."""
    framework = "net" + ".".join(map(str, parse_version(installed["sdk"])[:2]))
    folders = [folder for folder in list_program_folders("dotnet") if folder.name in only]
    return build_stale("programs", installed["dotnet"], folders, lambda folder: CACHE / "programs/installed" / folder.name,
                       lambda folder: compute_stamp(folder) + installed["sdk"], create_installed_environment(installed),
                       [f"TargetFramework={framework}", "RestoreSources="])


def build_test_projects(installed):
    """A copy of the projects of tests, built: a project for each test framework of .NET and each of its platforms."""
    if installed is None or parse_version(installed["sdk"])[:1] < (10,):
        return None
    source, target = ROOT / "fixtures/tests/dotnet", CACHE / "programs/tests-dotnet"
    feed = os.environ.get("TANDEM_NUGET_FEED")
    content = b"".join(path.read_bytes() for path in sorted(source.rglob("*")) if path.is_file())
    wanted = hashlib.sha256(f"{target} {feed} {installed['sdk']} ".encode() + content).hexdigest()
    stamp = target / ".stamp"
    if not stamp.exists() or stamp.read_text() != wanted:
        log_progress("building projects of tests")
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)
        if feed:
            (target / "nuget.config").write_text(
                f'<configuration><packageSources><clear /><add key="feed" value="{feed}" /></packageSources></configuration>\n')
        run_build(installed["dotnet"], "msbuild", "-restore", target / "all.slnx", "-nologo", "-v:q", "-p:UseSharedCompilation=true",
                  environment=create_installed_environment(installed))
        stamp.write_text(wanted)
    return str(target)


def build_modern_programs(installed):
    """Programs of today's C#. `TANDEM_NUGET_FEED` names a folder of packages, where none is to be had from the network."""
    if installed is None or parse_version(installed["sdk"])[:1] < (10,):
        log_progress("no .NET SDK 10 or newer is installed: programs of today's C# are not built, and their tests are skipped")
        return {}
    environment = create_installed_environment(installed)
    feed = os.environ.get("TANDEM_NUGET_FEED")
    return build_stale("programs of today's C#", installed["dotnet"], list_program_folders("modern"),
                       lambda folder: CACHE / "programs/modern" / folder.name, lambda folder: compute_stamp(folder) + installed["sdk"],
                       environment, [f"RestoreSources={feed}"] if feed else [])


def build_one_file(parts, assembly):
    out = CACHE / "programs/one-file"
    out.mkdir(parents=True, exist_ok=True)
    stamp, wanted = out / ".stamp", hashlib.sha256(assembly.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != wanted:
        log_progress("bundling a program in one file")
        program = out / assembly.stem
        pack = json.loads((parts / "pack.json").read_text())
        program.unlink(missing_ok=True)
        program.write_bytes(one_file.create_bundle((parts / "azmcp").read_bytes(), "azmcp", parts / "runtime", pack, assembly))
        program.chmod(0o755)
        shutil.copy2(assembly.with_suffix(".pdb"), out)
        stamp.write_text(wanted)
    return {"program": str(out / assembly.stem), "libraries": str(parts / "runtime")}


def build_child_programs(go):
    """The native programs; what is built says where its source lies, so another place is another build."""
    sources = ROOT / "fixtures/programs/children"
    out = CACHE / "programs/children"
    out.mkdir(parents=True, exist_ok=True)
    # Debian's Delve is older than what the Go here writes by itself.
    environment = {**get_cache_variables(), **os.environ, "GOEXPERIMENT": "nodwarf5", "GOTOOLCHAIN": "local",
                   "GOFLAGS": "-buildvcs=false"}
    # Another compiler describes the same program differently to a debugger.
    compilers = {name: run_command((name, option))[1] for name, option in (("cc", "--version"), (go, "version"))}
    wanted = {source.stem: ([source], ["cc", "-g", "-O0", "-pthread", "-o"], sources) for source in sources.glob("*.c")}
    for folder in sources.glob("go-*"):
        wanted[folder.name] = (sorted(folder.iterdir()), [go, "build", "-gcflags=all=-N -l", "-o"], folder)
    for name, (files, command, folder) in sorted(wanted.items()):
        content = b"".join(file.read_bytes() for file in files)
        stamp = hashlib.sha256(f"{ROOT} {command} {compilers[command[0]]}".encode() + content).hexdigest()
        note = out / f".{name}.stamp"
        if not (out / name).exists() or not note.exists() or note.read_text() != stamp:
            log_progress(f"building {name}")
            what = files if command[0] == "cc" else ["."]
            run(*command, out / name, *what, cwd=folder, env=environment, pass_fds=lock_handles)
            note.write_text(stamp)
    return out
