"""Downloads through the clients of package registries, with a timeout and at most two retries. A failure names the package and the kind of
host."""
import contextlib, http.client, os, pathlib, re, shutil, socket, ssl, sys, tempfile, threading, time
import urllib.error, urllib.parse, urllib.request, zipfile

from .cache import verify_hash
from .commands import DISK_FULL_PATTERN, describe_full_disk, fail, log_progress, run_command, summarize
from .paths import ROOT

# Time limit of a connection. A host that does not accept one three times is unreachable.
CONNECT_TIMEOUT_SECONDS = 6
TIMEOUT_SECONDS = 60
RETRIES = 2
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--timeout", TIMEOUT_SECONDS, "--retries", RETRIES)
# Settings that come before those of the user, of which these two refuse an installation into a folder.
pip_settings = {"PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0"}
# An error is printed with its reason, which `--silent` would hide.
NPM_OPTIONS = ("--loglevel=error", "--no-audit", "--no-fund", "--no-update-notifier",
               f"--fetch-timeout={TIMEOUT_SECONDS * 1000}", f"--fetch-retries={RETRIES}",
               "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000")
APT_OPTIONS = ("-o", f"Acquire::Retries={RETRIES}", "-o", f"Acquire::http::Timeout={TIMEOUT_SECONDS}", "-o", f"Acquire::https::Timeout={TIMEOUT_SECONDS}",
               "-o", "DPkg::Lock::Timeout=120")
UNREACHABLE_PATTERN = re.compile(r"NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|Max retries exceeded|Temporary failure|"
                       r"Could not resolve|EAI_AGAIN|ENOTFOUND|ETIMEDOUT|ECONNRE|ENETUNREACH|ERR_SOCKET_TIMEOUT|Connection timed out|"
                       r"Could not connect|Cannot initiate the connection|Failed to fetch", re.IGNORECASE)
UNTRUSTED_PATTERN = re.compile(r"SELF_SIGNED_CERT\w*|UNABLE_TO_(?:GET_ISSUER|VERIFY)\w*|CERTIFICATE_VERIFY_FAILED|certificate verification failed", re.IGNORECASE)
UNKNOWN_PACKAGE_PATTERN = re.compile(r"Unable to locate package|has no installation candidate")
PYPI, NPM, DEBIAN = "a package index of Python (PyPI)", "a registry of npm", "a mirror of the distribution (apt)"
apt_lock, reach_lock, reached = threading.RLock(), threading.Lock(), {}


def fail_unreachable(what, kind, detail=""):
    fail(f"{what}: {kind} cannot be reached{detail}. Check the network and its proxy settings, and run this again")


def read_output(*command):
    with contextlib.suppress(OSError):
        return run_command(command)[1].strip()
    return ""


def find_address(kind):
    """Finds the address of the host that the client connects to; None if it uses a proxy or the address is unknown."""
    if any(os.environ.get(name) for known in ("http_proxy", "https_proxy", "all_proxy") for name in (known, known.upper())):
        return None
    if kind == PYPI:
        settings = read_output(*PIP, "config", "list")
        index = re.search(r"\bindex-url='([^']+)'", settings)
        return None if re.search(r"\b(proxy|no-index)=", settings) else index[1] if index else "https://pypi.org/"
    if kind == NPM:
        text = read_npm_settings()
        registry = re.search(r"^\s*registry\s*=\s*(\S+)", text, re.MULTILINE)
        proxy = re.search(r"^\s*(https-)?proxy\s*=", text, re.MULTILINE)
        return None if proxy else registry[1] if registry else "https://registry.npmjs.org/"
    if kind == DEBIAN:
        proxy = read_output("apt-config", "dump", "Acquire::http::Proxy") + read_output("apt-config", "dump", "Acquire::https::Proxy")
        addresses = read_output("apt-get", "indextargets", "--format", "$(REPO_URI)").split()
        return addresses[0] if addresses and "://" in addresses[0] and "Proxy" not in proxy else None
    return kind


def read_npm_settings():
    """Reads the lines of the user's npm settings; variables come first."""
    variables = {name.lower().removeprefix("npm_config_"): value for name, value in os.environ.items() if name.lower().startswith("npm_config_")}
    file = pathlib.Path(variables.get("userconfig") or pathlib.Path.home() / ".npmrc")
    own = [f"{name.replace('_', '-')}={value}" for name, value in variables.items()]
    return "\n".join([*own, file.read_text() if file.is_file() else ""])


def accepts_connections(address, attempts=1 + RETRIES):
    """Whether the host of an address accepts a connection within the time limit."""
    parts = urllib.parse.urlsplit(address)
    connected = []

    def connect():
        for _ in range(attempts):
            with contextlib.suppress(OSError):
                port = parts.port or (80 if parts.scheme == "http" else 443)
                socket.create_connection((parts.hostname, port), CONNECT_TIMEOUT_SECONDS).close()
                connected.append(True)
                return
            time.sleep(1)

    # A name server that does not respond may block the thread for longer.
    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(attempts * CONNECT_TIMEOUT_SECONDS)
    return bool(connected)


def require_reachable(kind, what):
    """Fails unless the host of this kind is reachable. Checks each kind once."""
    with reach_lock:
        if kind not in reached:
            address = find_address(kind)
            reached[kind] = (address is None or accepts_connections(address), address)
        found, address = reached[kind]
    if not found:
        fail_unreachable(what, kind, f" at {urllib.parse.urlsplit(address).hostname}")


def fetch(kind, what, *command, **options):
    """Runs a client that downloads something; a failure contains the name `what`."""
    require_reachable(kind, what)
    require_success(kind, what, command, *run_command(command, **options))


def fetch_from_pypi(what, *words):
    """Runs pip to download something; a failure contains the name `what`."""
    require_reachable(PYPI, what)
    require_success(PYPI, what, ("pip", *words), *run_pip(*words))


def run_pip(*words):
    """Runs pip; if it does not trust the index, again with the certificates of the machine. Before 24.2, pip has
    only its own."""
    settings = dict(pip_settings)
    status, output = run_command((*PIP, *words), env={**os.environ, **settings})
    certificates = find_certificates() if status != 0 and UNTRUSTED_PATTERN.search(output) else None
    if certificates in (None, settings.get("PIP_CERT")):
        return status, output
    pip_settings["PIP_CERT"] = certificates
    return run_pip(*words)


def find_certificates():
    """Finds the file or folder of the certificates that this machine trusts; None if it has none."""
    paths = ssl.get_default_verify_paths()
    if paths.cafile:
        return paths.cafile
    # With an empty folder, pip would trust nobody.
    return paths.capath if paths.capath and any(pathlib.Path(paths.capath).glob("*.0")) else None


def require_success(kind, what, command, status, output):
    """Fails unless the status is 0, with the cause that the output of the client shows."""
    if status == 0:
        return
    if DISK_FULL_PATTERN.search(output):
        fail(describe_full_disk())
    if match := UNTRUSTED_PATTERN.search(output):
        fail(f"{what}: the certificate of {kind} is not trusted ({match[0]}). If a proxy opens TLS connections, add its certificate to those of the "
             "machine (`update-ca-certificates`), and run this again")
    if UNREACHABLE_PATTERN.search(output):
        fail_unreachable(what, kind, f" ({UNREACHABLE_PATTERN.search(output)[0]})")
    fail(f"{what}: `{' '.join(map(str, command))}` failed ({status}):\n{summarize(output)}")


def download_official(scratch, url, sha512):
    """Downloads an archive from Microsoft; returns None if the host is unreachable."""
    archive, host = scratch / url.rsplit("/", 1)[1], urllib.parse.urlsplit(url).hostname
    with reach_lock:
        if host not in reached:
            reached[host] = bool(urllib.request.getproxies()) or accepts_connections(url, 1)
    if reached[host]:
        log_progress(f"fetching {archive.name}")
        if download(url, archive):
            return verify_hash(archive, sha512, "sha512")
    log_progress(f"{archive.name} comes from a package registry, because {host} cannot be reached")
    return None


def download(url, target):
    """Downloads `url` to `target`; returns None if the host does not have it, or does not respond after retries."""
    for _ in range(1 + RETRIES):
        try:
            with open_address(url) as response, target.open("wb") as file:
                for part in iter(lambda: read_part(response), b""):
                    file.write(part)
                return target
        except urllib.error.HTTPError:
            return None
        except urllib.error.URLError as error:
            log_progress(f"{url}: {error.reason}")
    return None


@contextlib.contextmanager
def convert_errors():
    """Converts errors of the network, so that they do not look like errors of the disk."""
    try:
        yield
    except urllib.error.URLError:
        raise
    except (OSError, http.client.HTTPException) as error:
        raise urllib.error.URLError(error) from None


def open_address(url):
    with convert_errors():
        return urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS)


def read_part(response):
    with convert_errors():
        part = response.read(1 << 20)
    if not part and response.length:
        raise urllib.error.URLError(f"the connection ended {response.length} bytes early")
    return part


def download_wheel(folder, pinned_package, *options):
    fetch_from_pypi(pinned_package, "download", "--quiet", "--no-deps", "--only-binary=:all:", *options,
                    "--dest", folder, pinned_package)
    return next(folder.glob("*.whl"))


def install_requirements(file, into, *options):
    """Installs the wheels that a file pins into a folder."""
    named = f"the Python packages of {file.relative_to(ROOT)}"
    log_progress(f"fetching {named}")
    # pip reads this as the first release, 3.11.0: every machine refuses a package that needs a later one.
    version = "%d.%d" % sys.version_info[:2]
    fetch_from_pypi(named, "install", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes",
                    "--python-version", version, *options, "--target", into, "-r", file)


def unpack_wheel(scratch, pinned, into):
    """Unpacks a wheel, which is a zip, without installing it or running its code."""
    package, platform, sha256 = pinned
    log_progress(f"fetching {package}")
    folder = pathlib.Path(tempfile.mkdtemp(dir=scratch))
    with zipfile.ZipFile(verify_hash(download_wheel(folder, package, "--python-version", "3.11", "--platform", platform), sha256)) as wheel:
        wheel.extractall(into)


def make_wheel(scratch, pinned, *programs):
    """Unpacks a wheel into a folder and makes the named files executable."""
    unpack_wheel(scratch, pinned, scratch / "made")
    for program in programs:
        (scratch / "made" / program).chmod(0o755)
    return scratch / "made"


def apt_install(packages):
    """Installs packages of the distribution in the machine's versions."""
    if not packages:
        return
    named = " ".join(packages)
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        fail(f"install the packages {named} and run this again")
    with apt_lock:
        log_progress(f"installing {named}")
        require_reachable(DEBIAN, named)
        # A package manager that is killed leaves packages that cannot be used: it ends its work where another step fails.
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
        options = {"env": environment, "is_killed": False}
        if read_output("dpkg", "--audit"):
            log_progress("completing an installation of packages that was interrupted")
            for command in (("dpkg", "--configure", "-a"), ("apt-get", *APT_OPTIONS, "install", "-y", "--fix-broken")):
                run_command(command, **options)
        _, updated = run_command(("apt-get", *APT_OPTIONS, "update"), **options)
        command = ("apt-get", *APT_OPTIONS, "install", "-y", "--no-install-recommends", *packages)
        status, output = run_command(command, **options)
        # An update fails with status 0. Where a package is unknown, its output says why.
        if UNKNOWN_PACKAGE_PATTERN.search(output):
            output = f"{updated}\n{output}"
        require_success(DEBIAN, named, command, status, output)


def ensure_program(program, package):
    with apt_lock:
        if not shutil.which(program):
            apt_install([package])


def list_missing_packages(program, package, libraries=()):
    """Lists the packages to install for a program and its libraries. An installed program is used."""
    missing = [package] if not shutil.which(program) else []
    found = read_output("/sbin/ldconfig", "-p")
    return missing + [owner for library, owner in libraries if library not in found]


def ensure_package(program, package, libraries=()):
    with apt_lock:
        apt_install(list_missing_packages(program, package, libraries))
    return shutil.which(program)


def ensure_file(file, package):
    """Ensures that a package of the distribution without a program is installed, by one of its files."""
    with apt_lock:
        apt_install([] if os.path.exists(file) else [package])


def download_from_archive(path, target):
    """Downloads a file of Debian's archive from the first of this machine's mirrors that has it."""
    require_reachable(DEBIAN, path)
    for mirror in dict.fromkeys(read_output("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages").split()):
        if found := download(mirror + path, target):
            return found
    fail(f"no mirror in `/etc/apt` has `{path}`")
