"""What catalogues want: a bundle for desktop hosts (.mcpb), server.json of the MCP registry, a package of Mason, the image's Dockerfile."""
import hashlib

from . import archive
from .archive import FILE, PROGRAM
from .facts import DESCRIPTION, DOWNLOADS, LICENCE, LICENCES, PUBLISHER, SHORT, VERSION, dumps, read_file
from .registries import create_registry_entry


def create_bundle(platform, programs, third_parties):
    manifest = {
        "manifest_version": "0.3", "name": "tandem", "display_name": "Tandem", "version": VERSION, "description": SHORT,
        "long_description": DESCRIPTION, "author": {"name": PUBLISHER["authors"], "url": PUBLISHER["homepage"]},
        "repository": {"type": "git", "url": PUBLISHER["repository"]}, "homepage": PUBLISHER["homepage"], "support": PUBLISHER["issues"],
        "icon": "icon.png", "license": LICENCE, "keywords": PUBLISHER["keywords"],
        "server": {"type": "binary", "entry_point": "server/tandem-mcp",
                   "mcp_config": {"command": "${__dirname}/server/tandem-mcp", "args": ["--root", "${user_config.root}"], "env": {}}},
        "user_config": {"root": {"type": "directory", "title": "Folder of your projects", "required": True, "default": "${HOME}",
                                 "description": "Where the file, git and build tools may work."}},
        "tools_generated": True, "prompts_generated": True, "compatibility": {"platforms": ["linux"]},
    }
    members = [("manifest.json", dumps(manifest), FILE), ("icon.png", read_file("vscode-extension/images/icon.png"), FILE)]
    members += [(name, read_file(name), FILE) for name in LICENCES] + [("THIRD-PARTY.txt", third_parties, FILE)]
    members += [(f"server/{name}", content, PROGRAM) for name, content in sorted(programs.items())]
    return f"tandem-{VERSION}-{platform.name}.mcpb", archive.create_zip(members)


def create_server_json(bundles):
    """One package for each registry that has Tandem, and one for each bundle: (name, content)."""
    entry = create_registry_entry("npm", "tandem-mcp", VERSION)
    stdio = {"transport": {"type": "stdio"}}
    entry["packages"] += [
        {"registryType": "pypi", "identifier": "tandem-mcp", "version": VERSION, "runtimeHint": "uvx", **stdio},
        {"registryType": "nuget", "identifier": "tandem", "version": VERSION, "runtimeHint": "dnx", **stdio},
        {"registryType": "oci", "identifier": f"{PUBLISHER['image']}:{VERSION}", "runtimeHint": "docker", **stdio},
    ]
    entry["packages"] += [{"registryType": "mcpb", "identifier": f"{DOWNLOADS}/{name}", "fileSha256": hashlib.sha256(content).hexdigest(), **stdio}
                          for name, content in bundles]
    return "server.json", dumps(entry)


def create_mason_package(platforms):
    """For the registry of mason.nvim: from the archives of the release, by their two programs."""
    assets = "".join(f"""
    - target: {platform.mason}
      file: tandem-{VERSION}-{platform.name}.tar.gz
      folder: tandem-{VERSION}-{platform.name}""" for platform in platforms)
    owner = PUBLISHER["repository"].removeprefix("https://github.com/")
    return "mason-package.yaml", f"""---
name: tandem
description: {SHORT}
homepage: {PUBLISHER['homepage']}
licenses:
  - MIT
  - Apache-2.0
languages:
  - C#
  - Python
  - C
  - C++
  - Rust
  - Go
  - JavaScript
  - Ruby
categories:
  - DAP

source:
  id: pkg:github/{owner}@v{VERSION}
  asset:{assets}

bin:
  tandem-dap: "{{{{source.asset.folder}}}}/bin/tandem-dap"
  tandem-mcp: "{{{{source.asset.folder}}}}/bin/tandem-mcp"
""".encode()


def create_dockerfile():
    """Beside the packages of Debian of the release. For agents (`docker run -i`), and as the image of `kubectl debug`."""
    return "Dockerfile", f"""# docker build -t {PUBLISHER['image']}:{VERSION} .   (in the folder of the release's files)
# An agent:       docker run -i --rm -v "$PWD:/work" {PUBLISHER['image']}:{VERSION}
# A program in a pod: kubectl debug -it POD --image={PUBLISHER['image']}:{VERSION} --target=CONTAINER -- tandem-dap --listen 127.0.0.1:4711
FROM debian:12-slim
# The builder sets it: amd64 or arm64, as Debian names them. A default would replace its value.
ARG TARGETARCH
COPY tandem_{VERSION}_${{TARGETARCH}}.deb /tmp/tandem.deb
RUN dpkg --install /tmp/tandem.deb && rm /tmp/tandem.deb
LABEL io.modelcontextprotocol.server.name="{PUBLISHER['mcpName']}" \\
      org.opencontainers.image.title="Tandem" \\
      org.opencontainers.image.description="{SHORT}" \\
      org.opencontainers.image.source="{PUBLISHER['repository']}" \\
      org.opencontainers.image.version="{VERSION}" \\
      org.opencontainers.image.licenses="{LICENCE}"
WORKDIR /work
ENTRYPOINT ["tandem-mcp"]
""".encode()
