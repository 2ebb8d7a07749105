"""Packages for registries of languages: npm (one that starts, one with the programs), PyPI (a wheel), NuGet (a tool of .NET, with a
package for each platform, as SDK 10 has it). Each is written as the archive that it is: no package manager is needed."""
import base64, hashlib
from xml.sax.saxutils import escape

from . import archive
from .archive import FILE, PROGRAM
from .facts import DESCRIPTION, LICENCE, LICENCES, PROGRAMS, PUBLISHER, SHORT, SUMMARY, VERSION, dumps, read_file

README = f"""# Tandem

{DESCRIPTION}

    tandem-mcp install claude-code     # or cursor, vscode, codex, gemini, …: writes the configuration
    tandem-mcp doctor                  # says what is here and what is missing

Linux x86-64 and AArch64 (without the .NET engine), glibc 2.28 or later. More: {PUBLISHER['homepage']}

<!-- mcp-name: {PUBLISHER['mcpName']} -->
""".encode()

# Starts the program of the package for this platform, which npm has put beside this one.
SHIM = """#!/usr/bin/env node
"use strict";
const { spawn } = require("node:child_process");
const name = require("node:path").basename(__filename, ".js");
const needed = `@SCOPE@/${process.platform}-${process.arch}`;
const report = process.platform === "linux" && process.report?.getReport();
const glibc = report && report.header.glibcVersionRuntime;
if (report && !glibc) {
  console.error(`${name}: its programs need glibc 2.28 or later, and this system has another C library, such as musl. Run it in a container or on a system with glibc.`);
  process.exit(1);
}
const [major = 0, minor = 0] = (glibc || "2.28").split(".").map(Number);
if (major < 2 || (major === 2 && minor < 28)) {
  console.error(`${name}: its programs need glibc 2.28 or later, and this system has ${glibc}. Run it in a container or on a newer system.`);
  process.exit(1);
}
let program;
try {
  program = require.resolve(`${needed}/bin/${name}`);
} catch {
  const known = Object.keys(require("../package.json").optionalDependencies);
  const why = known.includes(needed) ? "it is not installed: optional dependencies were left out" : "there is no such package";
  console.error(`${name}: it needs the package ${needed}, and ${why}. There are: ${known.join(", ")}.`);
  process.exit(1);
}
// A package that `npx` has in its cache is to be named by `npx` in configurations, not by its place there.
const run = /[\\\\/]_npx[\\\\/]/.test(program) ? { TANDEM_LAUNCHER: "npx" } : {};
const child = spawn(program, process.argv.slice(2), { stdio: "inherit", env: { ...process.env, ...run } });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`${name}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code ?? 1);
  }
});
"""


def create_npm_packages(built, third_parties):
    """The packages of the platforms first, for the last one names them."""
    scope = PUBLISHER["npmScope"]
    shared = {"version": VERSION, "license": f"({LICENCE})", "author": PUBLISHER["authors"], "homepage": PUBLISHER["homepage"],
              "repository": {"type": "git", "url": f"git+{PUBLISHER['repository']}.git"}, "bugs": PUBLISHER["issues"],
              "keywords": PUBLISHER["keywords"]}
    licences = [(f"package/{name}", read_file(name), FILE) for name in LICENCES]
    for platform, programs in built.items():
        manifest = {"name": f"{scope}/{platform.name}", "description": f"The programs of tandem-mcp for Linux {platform.machine}", **shared,
                    "os": ["linux"], "cpu": [platform.node_cpu], "libc": ["glibc"], "preferUnplugged": True, "files": ["bin", "THIRD-PARTY.txt"]}
        members = [("package/package.json", dumps(manifest), FILE), ("package/README.md", README, FILE), *licences,
                   ("package/THIRD-PARTY.txt", third_parties, FILE)]
        members += [(f"package/bin/{name}", content, PROGRAM) for name, content in sorted(programs.items())]
        yield f"{scope.lstrip('@')}-{platform.name}-{VERSION}.tgz", archive.compress_gzip(archive.create_tar(members))
    starter = {"name": "tandem-mcp", "description": SUMMARY, **shared, "mcpName": PUBLISHER["mcpName"],
               "bin": {name: f"bin/{name}.js" for name in PROGRAMS}, "engines": {"node": ">=18"}, "files": ["bin"],
               "optionalDependencies": {f"{scope}/{platform.name}": VERSION for platform in built}}
    members = [("package/package.json", dumps(starter), FILE), ("package/README.md", README, FILE), *licences]
    members += [(f"package/bin/{name}.js", SHIM.replace("@SCOPE@", scope).encode(), PROGRAM) for name in sorted(PROGRAMS)]
    yield f"tandem-mcp-{VERSION}.tgz", archive.compress_gzip(archive.create_tar(members))


def create_wheel(platform, programs, third_parties):
    info, tag = f"tandem_mcp-{VERSION}.dist-info", platform.wheel
    metadata = "\n".join([
        "Metadata-Version: 2.4", "Name: tandem-mcp", f"Version: {VERSION}", f"Summary: {SUMMARY}",
        f"Author: {PUBLISHER['authors']}", f"License-Expression: {LICENCE}", *(f"License-File: {name}" for name in LICENCES),
        f"Keywords: {','.join(PUBLISHER['keywords'])}", f"Project-URL: Repository, {PUBLISHER['repository']}",
        f"Project-URL: Issues, {PUBLISHER['issues']}", "Classifier: Topic :: Software Development :: Debuggers",
        "Classifier: Operating System :: POSIX :: Linux", "Requires-Python: >=3.8", "Description-Content-Type: text/markdown", "", ""])
    members = [(f"tandem_mcp-{VERSION}.data/scripts/{name}", content, PROGRAM) for name, content in sorted(programs.items())]
    members += [(f"{info}/METADATA", metadata.encode() + README, FILE),
                (f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: tandem\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), FILE)]
    members += [(f"{info}/licenses/{name}", read_file(name), FILE) for name in LICENCES]
    members.append((f"{info}/licenses/THIRD-PARTY.txt", third_parties, FILE))
    digest = lambda content: base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    record = "".join(f"{name},sha256={digest(content)},{len(content)}\n" for name, content, _ in members) + f"{info}/RECORD,,\n"
    members.append((f"{info}/RECORD", record.encode(), FILE))
    return f"tandem_mcp-{VERSION}-{tag}.whl", archive.create_zip(members)


def create_nuspec(name, kinds, description):
    return f"""<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd">
  <metadata>
    <id>{name}</id>
    <version>{VERSION}</version>
    <authors>{escape(PUBLISHER['authors'])}</authors>
    <license type="expression">{LICENCE}</license>
    <projectUrl>{PUBLISHER['homepage']}</projectUrl>
    <readme>README.md</readme>
    <icon>icon.png</icon>
    <description>{escape(description)}</description>
    <tags>{' '.join(PUBLISHER['keywords'])}</tags>
    <repository type="git" url="{PUBLISHER['repository']}" />
    <packageTypes>{''.join(f'<packageType name="{kind}" />' for kind in kinds)}</packageTypes>
  </metadata>
</package>
""".encode()


def create_nupkg(name, kinds, description, members):
    """A package as NuGet reads it: by the rules of Open Packaging, which it checks little of."""
    types = ('<?xml version="1.0" encoding="utf-8"?>\n<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
             '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml" />'
             + "".join(f'<Default Extension="{ending}" ContentType="application/octet" />' for ending in ("nuspec", "xml", "md", "png", "json", "txt"))
             + "".join(f'<Override PartName="/{part}" ContentType="application/octet" />' for part, _, _ in members if "." not in part.rsplit("/", 1)[1])
             + "</Types>\n").encode()
    rels = ('<?xml version="1.0" encoding="utf-8"?>\n<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
            f'<Relationship Type="http://schemas.microsoft.com/packaging/2010/07/manifest" Target="/{name}.nuspec" Id="R1" />'
            "</Relationships>\n").encode()
    whole = [(f"{name}.nuspec", create_nuspec(name, kinds, description), FILE), ("[Content_Types].xml", types, FILE), ("_rels/.rels", rels, FILE),
             ("README.md", README, FILE), ("icon.png", read_file("vscode-extension/images/icon.png"), FILE), *members]
    return f"{name}.{VERSION}.nupkg", archive.create_zip(whole)


def create_nuget_packages(built, third_parties):
    """`tandem`, which names the package of each platform, and these."""
    command = '<?xml version="1.0" encoding="utf-8"?>\n<DotNetCliTool Version="2">\n  <Commands>\n    <Command Name="tandem-mcp"{} />\n  </Commands>{}\n</DotNetCliTool>\n'
    own = command.format(' EntryPoint="tandem-mcp" Runner="executable"', "").encode()
    for platform, programs in built.items():
        folder = f"tools/any/{platform.name}"
        members = [(f"{folder}/DotnetToolSettings.xml", own, FILE), (f"{folder}/THIRD-PARTY.txt", third_parties, FILE)]
        members += [(f"{folder}/{name}", read_file(name), FILE) for name in LICENCES]
        members += [(f"{folder}/{name}", content, PROGRAM) for name, content in sorted(programs.items())]
        yield create_nupkg(f"tandem.{platform.name}", ["DotnetToolRidPackage"], f"{SHORT} The programs for Linux {platform.machine}.", members)
    listed = "".join(f'\n    <RuntimeIdentifierPackage RuntimeIdentifier="{platform.name}" Id="tandem.{platform.name}" />' for platform in built)
    platforms = f"\n  <RuntimeIdentifierPackages>{listed}\n  </RuntimeIdentifierPackages>"
    server = dumps(create_registry_entry("nuget", "tandem", VERSION))
    yield create_nupkg("tandem", ["DotnetTool", "McpServer"], SHORT, [
        ("tools/any/any/DotnetToolSettings.xml", command.format("", platforms).encode(), FILE), (".mcp/server.json", server, FILE)])


def create_registry_entry(kind, identifier, version):
    """A server.json with one package."""
    return {"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json", "name": PUBLISHER["mcpName"],
            "title": "Tandem", "description": SHORT, "version": VERSION, "websiteUrl": PUBLISHER["homepage"],
            "repository": {"url": PUBLISHER["repository"], "source": "github"},
            "packages": [{"registryType": kind, "identifier": identifier, "version": version, "transport": {"type": "stdio"}}]}
