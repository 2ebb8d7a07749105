"""Checks the release files, built twice with placeholders for the programs: the same bytes, what each catalogue asks of a manifest, and
installed by the package managers that are here. With the real programs, in a bare root: `scripts/try-release`."""
import hashlib, json, os, pathlib, re, shutil, subprocess, sys, tarfile, tempfile, xml.etree.ElementTree as xml, zipfile

from setup.adapters import install_python_packages
from setup.cache import install_pinned
from setup.network import run_pip
from setup.node import download_npm_package
from tools import install_tool

from .facts import PLATFORMS, PROGRAMS, PUBLISHER, VERSION, X64

# Has the schemas of the manifests of bundles.
MCPB = ("@anthropic-ai/mcpb@2.1.2", "81174993380eb930bcacecc890b1acfdb06cf336366e445404aea36467417cc1")

failures = []


def check(condition, message):
    if not condition:
        failures.append(message)


def run_checked(*command, **options):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL, **options)
    check(done.returncode == 0, f"`{' '.join(map(str, command))}` failed: {done.stdout[-2000:]}")
    return done.stdout


def create_placeholder_programs(folder):
    """Creates scripts that print the names and versions of the programs."""
    folder.mkdir()
    for name in PROGRAMS:
        (folder / name).write_text(f'#!/bin/sh\n[ "$1" = generate ] && {{ echo "page of {name}: $2"; exit 0; }}\necho "{name} {VERSION}"\n')
        (folder / name).chmod(0o755)
    return folder


def compute_hashes(folder):
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}


def run(make, platforms=PLATFORMS):
    with tempfile.TemporaryDirectory(prefix="tandem-release-") as scratch:
        scratch = pathlib.Path(scratch)
        programs = create_placeholder_programs(scratch / "programs")
        for name in ("one", "two"):
            make(programs, scratch / name)
        first, second = compute_hashes(scratch / "one"), compute_hashes(scratch / "two")
        check(first == second, f"two runs differ: {[name for name in first if first[name] != second.get(name)]}")
        for check_files in (check_archives, check_npm, check_wheel, check_nuget, check_catalogues, check_bill, check_image):
            check_files(scratch / "one", scratch, platforms)
    if failures:
        sys.exit("release: " + "\nrelease: ".join(failures))
    print(f"release: {len(first)} files are well formed, and the same in two runs")


def find_only(folder, pattern):
    return next(folder.glob(pattern))


def check_archives(out, scratch, platforms):
    with tarfile.open(find_only(out, "tandem-*-linux-x64.tar.gz")) as tar:
        names = {name.split("/", 1)[1] for name in tar.getnames()}
        check({member.mtime for member in tar} == {1577836800}, "the archive has times of the build")
    wanted = {"bin/tandem-dap", "bin/tandem-mcp", "share/man/man1/tandem-mcp.1", "share/bash-completion/completions/tandem-dap",
              "LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt"}
    check(wanted <= names, f"the archive lacks {wanted - names}")
    for platform in platforms:
        check((out / f"tandem-{VERSION}-{platform.name}.tar.gz").is_file(), f"there is no archive for {platform.name}")
    if shutil.which("dpkg-deb"):
        for platform in platforms:
            found = run_checked("dpkg-deb", "-f", out / f"tandem_{VERSION}_{platform.debian}.deb", "Architecture").strip()
            check(found == platform.debian, f"the .deb of {platform.name} is for {found}")
        package = find_only(out, f"*_{X64.debian}.deb")
        check(run_checked("dpkg-deb", "-f", package, "Depends").strip() == "libc6 (>= 2.28)", "the .deb depends on something else")
        run_checked("dpkg-deb", "-x", package, scratch / "deb")
        check(VERSION in run_checked(scratch / "deb/usr/bin/tandem-mcp", "--version"), "the .deb's program does not run")


def check_npm(out, scratch, platforms):
    packages = [find_only(out, "*-linux-x64-*.tgz"), find_only(out, "tandem-mcp-*.tgz")]
    manifests = []
    for package in packages:
        with tarfile.open(package) as tar:
            manifests.append(json.load(tar.extractfile("package/package.json")))
    platform, starter = manifests
    wanted = {f"{PUBLISHER['npmScope']}/{one.name}": VERSION for one in platforms}
    check(platform["name"] in wanted and starter["optionalDependencies"] == wanted, "the starter names other platform packages")
    check(starter["mcpName"] == PUBLISHER["mcpName"], "the MCP registry would not know whose npm package it is")
    if shutil.which("npm"):
        folder = scratch / "npm"
        folder.mkdir()
        (folder / "package.json").write_text("{}")
        run_checked("npm", "install", "--silent", "--offline", "--no-audit", "--no-fund", *packages, cwd=folder)
        check(run_checked(folder / "node_modules/.bin/tandem-mcp", "--version").strip() == f"tandem-mcp {VERSION}", "npm's tandem-mcp does not run")
        for library, words in (("undefined", "has another C library, such as musl"), ("'2.27'", "this system has 2.27")):
            (folder / "libc.cjs").write_text(f"process.report.getReport = () => ({{ header: {{ glibcVersionRuntime: {library} }} }});")
            done = subprocess.run([folder / "node_modules/.bin/tandem-mcp"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  env={**os.environ, "NODE_OPTIONS": f"--require={folder / 'libc.cjs'}"})
            check(done.returncode == 1 and words in done.stdout, f"npm's tandem-mcp does not refuse the C library: {done.stdout}")
        shutil.rmtree(folder / "node_modules" / platform["name"])
        done = subprocess.run([folder / "node_modules/.bin/tandem-mcp"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        check(done.returncode == 1 and "optional dependencies were left out" in done.stdout, f"npm's tandem-mcp does not say what is missing: {done.stdout}")


def check_wheel(out, scratch, platforms):
    package = find_only(out, f"*-{X64.wheel}.whl")
    with zipfile.ZipFile(package) as archive:
        listed = {line.split(",")[0] for line in archive.read(f"tandem_mcp-{VERSION}.dist-info/RECORD").decode().splitlines()}
        check(listed == set(archive.namelist()), "RECORD does not list the files of the wheel")
        metadata = archive.read(f"tandem_mcp-{VERSION}.dist-info/METADATA").decode()
        check(f"mcp-name: {PUBLISHER['mcpName']}" in metadata, "the MCP registry would not know whose wheel it is")
    # Not --prefix: Debian's pip installs into `local` below it.
    options = ("--quiet", "--no-index", "--no-deps", "--target", scratch / "wheel")
    status, output = run_pip("install", *options, package)
    check(status == 0, f"pip cannot install the wheel: {output[-2000:]}")
    check(run_checked(scratch / "wheel/bin/tandem-mcp", "--version").strip() == f"tandem-mcp {VERSION}", "the wheel's program does not run")


def check_nuget(out, _scratch, platforms):
    for name, kind in (("tandem", "DotnetTool"), *((f"tandem.{platform.name}", "DotnetToolRidPackage") for platform in platforms)):
        with zipfile.ZipFile(out / f"{name}.{VERSION}.nupkg") as archive:
            text = archive.read(f"{name}.nuspec").decode()
            check(f'<packageType name="{kind}" />' in text, f"{name} is not a {kind}")
            settings = next(file for file in archive.namelist() if file.endswith("DotnetToolSettings.xml"))
            check(xml.fromstring(archive.read(settings)).get("Version") == "2", f"{settings} is of another version")
            for part in archive.namelist():
                if part.endswith((".xml", ".nuspec", ".rels")):
                    xml.fromstring(archive.read(part))


def check_catalogues(out, _scratch, platforms):
    server = json.loads((out / "server.json").read_text())
    check(re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"]) is not None, "server.json: its name is of no namespace")
    check(1 <= len(server["description"]) <= 100, f"server.json: its description has {len(server['description'])} characters")
    check({one["registryType"] for one in server["packages"]} == {"npm", "pypi", "nuget", "oci", "mcpb"}, "server.json: a registry is missing")
    for one in server["packages"]:
        check(one["transport"] == {"type": "stdio"}, f"server.json: {one['identifier']} is not started")
        check(("version" in one) == (one["registryType"] in ("npm", "pypi", "nuget")), f"server.json: the version of {one['identifier']}")
        check(("fileSha256" in one) == (one["registryType"] == "mcpb"), f"server.json: the hash of {one['identifier']}")
    bundled = {one["identifier"].rsplit("/", 1)[1]: one["fileSha256"] for one in server["packages"] if one["registryType"] == "mcpb"}
    found = {package.name: hashlib.sha256(package.read_bytes()).hexdigest() for package in out.glob("*.mcpb")}
    check(bundled == found and len(found) == len(platforms), "server.json has other bundles, or other hashes of them")
    package = find_only(out, f"*-{X64.name}.mcpb")
    with zipfile.ZipFile(package) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        for problem in validate_manifest(manifest):
            failures.append(f"the bundle's manifest: {problem}")
        check(manifest["server"]["entry_point"] in archive.namelist(), "the bundle's entry point is not in it")
        check(archive.getinfo(manifest["server"]["entry_point"]).external_attr >> 16 & 0o111, "the bundle's program cannot be run")
    for platform in platforms:
        check(f"tandem-{VERSION}-{platform.name}.tar.gz" in (out / "mason-package.yaml").read_text(), "Mason would fetch another file")


def validate_manifest(manifest):
    """Returns the violations of the schema of the manifest's version."""
    package = install_pinned("mcpb", MCPB, lambda scratch: download_npm_package(scratch, *MCPB))
    schema = package / f"schemas/mcpb-manifest-v{manifest['manifest_version']}.schema.json"
    code = ("import json, sys, jsonschema\nschema, found = map(json.loads, sys.stdin)\n"
            "for one in jsonschema.Draft7Validator(schema).iter_errors(found): print('/'.join(map(str, one.path)), one.message)")
    lines = f"{json.dumps(json.loads(schema.read_text()))}\n{json.dumps(manifest)}\n"
    done = subprocess.run([sys.executable, "-c", code], input=lines, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, "PYTHONPATH": str(install_python_packages())})
    check(done.returncode == 0, f"jsonschema cannot check the bundle's manifest: {done.stdout[-2000:]}")
    return done.stdout.splitlines()


def check_bill(out, _scratch, platforms):
    listed = json.loads(find_only(out, "*.cdx.json").read_text())
    check(listed["bomFormat"] == "CycloneDX" and listed["specVersion"] == "1.6", "the bill of materials is of another form")
    known = {one["bom-ref"] for one in listed["components"]} | {"tandem"}
    check(len(known) == len(listed["components"]) + 1, "a component is listed twice")
    check(all(one["ref"] in known and set(one["dependsOn"]) <= known for one in listed["dependencies"]), "a dependency is not listed")
    check({"tokio", "rmcp", "tandem-dap"} <= {one["name"] for one in listed["components"]}, "the bill of materials has too little")
    check(not {"insta", "proptest", "syn"} & {one["name"] for one in listed["components"]}, "what only builds or tests is listed")


def check_image(out, _scratch, platforms):
    text = (out / "Dockerfile").read_text()
    check(f'io.modelcontextprotocol.server.name="{PUBLISHER["mcpName"]}"' in text, "the MCP registry would not know whose image it is")
    copied = re.search(r"^COPY (\S+)", text, re.M)[1]
    for platform in platforms:
        check((out / copied.replace("${TARGETARCH}", platform.debian)).is_file(), f"the image copies a file that is not there for {platform.name}")
    run_checked(install_tool("hadolint"), out / "Dockerfile")
