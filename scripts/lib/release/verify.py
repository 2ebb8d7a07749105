"""Checks the release files, built twice with placeholders for the programs: the same bytes, what each catalogue asks of a manifest, and
installed by the package managers that are here. With the real programs, in a bare root: `scripts/try-release`."""
import hashlib, json, pathlib, re, shutil, subprocess, sys, tarfile, tempfile, xml.etree.ElementTree as xml, zipfile

from tools import tool

from .facts import PROGRAMS, PUBLISHER, VERSION

failures = []


def that(holds, what):
    if not holds:
        failures.append(what)


def output(*command, **options):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL, **options)
    that(done.returncode == 0, f"`{' '.join(map(str, command))}` failed: {done.stdout[-2000:]}")
    return done.stdout


def stand_ins(folder):
    """Programs that say who they are."""
    folder.mkdir()
    for name in PROGRAMS:
        (folder / name).write_text(f'#!/bin/sh\n[ "$1" = generate ] && {{ echo "page of {name}: $2"; exit 0; }}\necho "{name} {VERSION}"\n')
        (folder / name).chmod(0o755)
    return folder


def sums(folder):
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}


def run(make):
    with tempfile.TemporaryDirectory(prefix="tandem-release-") as scratch:
        scratch = pathlib.Path(scratch)
        programs = stand_ins(scratch / "programs")
        for name in ("one", "two"):
            make(programs, scratch / name)
        first, second = sums(scratch / "one"), sums(scratch / "two")
        that(first == second, f"two runs differ: {[name for name in first if first[name] != second.get(name)]}")
        for look in (archive_and_debian, npm, wheel, nuget, catalogues, bill, image):
            look(scratch / "one", scratch)
    if failures:
        sys.exit("release: " + "\nrelease: ".join(failures))
    print(f"release: {len(first)} files are well formed, and the same in two runs")


def only(folder, pattern):
    return next(folder.glob(pattern))


def archive_and_debian(out, scratch):
    with tarfile.open(only(out, "tandem-*.tar.gz")) as tar:
        names = {name.split("/", 1)[1] for name in tar.getnames()}
        that({member.mtime for member in tar} == {1577836800}, "the archive has times of its own")
    wanted = {"bin/tandem-dap", "bin/tandem-mcp", "share/man/man1/tandem-mcp.1", "share/bash-completion/completions/tandem-dap",
              "LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt"}
    that(wanted <= names, f"the archive lacks {wanted - names}")
    if shutil.which("dpkg-deb"):
        package = only(out, "*.deb")
        that(output("dpkg-deb", "-f", package, "Depends").strip() == "libc6 (>= 2.28)", "the .deb depends on something else")
        output("dpkg-deb", "-x", package, scratch / "deb")
        that(VERSION in output(scratch / "deb/usr/bin/tandem-mcp", "--version"), "the .deb's program does not run")


def npm(out, scratch):
    packages = [only(out, "*-linux-x64-*.tgz"), only(out, "tandem-mcp-*.tgz")]
    manifests = []
    for package in packages:
        with tarfile.open(package) as tar:
            manifests.append(json.load(tar.extractfile("package/package.json")))
    platform, starter = manifests
    that(starter["optionalDependencies"] == {platform["name"]: platform["version"]}, "the starter names another platform package")
    that(starter["mcpName"] == PUBLISHER["mcpName"], "the MCP registry would not know whose npm package it is")
    if shutil.which("npm"):
        folder = scratch / "npm"
        folder.mkdir()
        (folder / "package.json").write_text("{}")
        output("npm", "install", "--silent", "--offline", "--no-audit", "--no-fund", *packages, cwd=folder)
        that(output(folder / "node_modules/.bin/tandem-mcp", "--version").strip() == f"tandem-mcp {VERSION}", "npm's tandem-mcp does not run")
        shutil.rmtree(folder / "node_modules" / platform["name"])
        done = subprocess.run([folder / "node_modules/.bin/tandem-mcp"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        that(done.returncode == 1 and "optional dependencies were left out" in done.stdout, f"npm's tandem-mcp does not say what is missing: {done.stdout}")


def wheel(out, scratch):
    package = only(out, "*.whl")
    with zipfile.ZipFile(package) as archive:
        listed = {line.split(",")[0] for line in archive.read(f"tandem_mcp-{VERSION}.dist-info/RECORD").decode().splitlines()}
        that(listed == set(archive.namelist()), "RECORD does not list the files of the wheel")
        metadata = archive.read(f"tandem_mcp-{VERSION}.dist-info/METADATA").decode()
        that(f"mcp-name: {PUBLISHER['mcpName']}" in metadata, "the MCP registry would not know whose wheel it is")
    output(sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check", "--root-user-action", "ignore",
           "--prefix", scratch / "wheel", package)
    that(output(scratch / "wheel/bin/tandem-mcp", "--version").strip() == f"tandem-mcp {VERSION}", "the wheel's program does not run")


def nuget(out, _scratch):
    for name, kind in (("tandem", "DotnetTool"), ("tandem.linux-x64", "DotnetToolRidPackage")):
        with zipfile.ZipFile(out / f"{name}.{VERSION}.nupkg") as archive:
            text = archive.read(f"{name}.nuspec").decode()
            that(f'<packageType name="{kind}" />' in text, f"{name} is not a {kind}")
            settings = next(file for file in archive.namelist() if file.endswith("DotnetToolSettings.xml"))
            that(xml.fromstring(archive.read(settings)).get("Version") == "2", f"{settings} is of another version")
            for part in archive.namelist():
                if part.endswith((".xml", ".nuspec", ".rels")):
                    xml.fromstring(archive.read(part))


def catalogues(out, _scratch):
    server = json.loads((out / "server.json").read_text())
    that(re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"]) is not None, "server.json: its name is of no namespace")
    that(1 <= len(server["description"]) <= 100, f"server.json: its description has {len(server['description'])} characters")
    that({one["registryType"] for one in server["packages"]} == {"npm", "pypi", "nuget", "oci", "mcpb"}, "server.json: a registry is missing")
    for one in server["packages"]:
        that(one["transport"] == {"type": "stdio"}, f"server.json: {one['identifier']} is not started")
        that(("version" in one) == (one["registryType"] in ("npm", "pypi", "nuget")), f"server.json: the version of {one['identifier']}")
        that(("fileSha256" in one) == (one["registryType"] == "mcpb"), f"server.json: the hash of {one['identifier']}")
    package = only(out, "*.mcpb")
    bundled = next(one for one in server["packages"] if one["registryType"] == "mcpb")
    that(bundled["fileSha256"] == hashlib.sha256(package.read_bytes()).hexdigest(), "server.json has the hash of another bundle")
    that(bundled["identifier"].endswith(f"/{package.name}"), "server.json names another bundle")
    with zipfile.ZipFile(package) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        that({"manifest_version", "name", "version", "description", "author", "server"} <= set(manifest), "the bundle's manifest lacks fields")
        that(manifest["server"]["entry_point"] in archive.namelist(), "the bundle's entry point is not in it")
        that(archive.getinfo(manifest["server"]["entry_point"]).external_attr >> 16 & 0o111, "the bundle's program cannot be run")
    that(f"tandem-{VERSION}-linux-x64.tar.gz" in (out / "mason-package.yaml").read_text(), "Mason would fetch another file")


def bill(out, _scratch):
    listed = json.loads(only(out, "*.cdx.json").read_text())
    that(listed["bomFormat"] == "CycloneDX" and listed["specVersion"] == "1.6", "the bill of materials is of another form")
    known = {one["bom-ref"] for one in listed["components"]} | {"tandem"}
    that(len(known) == len(listed["components"]) + 1, "a component is listed twice")
    that(all(one["ref"] in known and set(one["dependsOn"]) <= known for one in listed["dependencies"]), "a dependency is not listed")
    that({"tokio", "rmcp", "tandem-dap"} <= {one["name"] for one in listed["components"]}, "the bill of materials has too little")
    that(not {"insta", "proptest", "syn"} & {one["name"] for one in listed["components"]}, "what only builds or tests is listed")


def image(out, _scratch):
    text = (out / "Dockerfile").read_text()
    that(f'io.modelcontextprotocol.server.name="{PUBLISHER["mcpName"]}"' in text, "the MCP registry would not know whose image it is")
    that((out / re.search(r"^ADD (\S+)", text, re.M).group(1)).is_file(), "the image adds a file that is not there")
    output(tool("hadolint"), out / "Dockerfile")
