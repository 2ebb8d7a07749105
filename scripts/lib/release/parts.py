"""Libraries in the programs: the bill of materials (CycloneDX 1.6), and the texts of their licences."""
import hashlib, json, pathlib, re, subprocess, uuid

from setup.paths import ROOT

from .facts import LICENCE, PLATFORMS, PUBLISHER, VERSION, dumps


def list_libraries():
    """Lists the packages of crates.io that are linked into the programs, in order. Excludes those that only builds or tests use."""
    platforms = [word for platform in PLATFORMS for word in ("--filter-platform", platform.rust)]
    described = subprocess.run(["cargo", "metadata", "--format-version", "1", "--locked", "--offline", *platforms],
                               cwd=ROOT, stdout=subprocess.PIPE, check=True)
    metadata = json.loads(described.stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    pending = [one for one, package in packages.items() if package["name"] in ("tandem-adapter", "tandem-bridge")]
    found = set()
    while pending:
        one = pending.pop()
        if one in found:
            continue
        found.add(one)
        macro = any("proc-macro" in target["kind"] for target in packages[one]["targets"])
        for dependency in nodes[one]["deps"] if not macro else ():
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                pending.append(dependency["pkg"])
    outside = [packages[one] for one in found if packages[one]["source"]]
    linked = [one for one in outside if not any("proc-macro" in target["kind"] for target in one["targets"])]
    return sorted(linked, key=lambda one: (one["name"], one["version"]))


def read_checksums():
    """(name, version) -> SHA-256 of the package, as Cargo.lock has it."""
    found = {}
    for block in (ROOT / "Cargo.lock").read_text().split("[[package]]"):
        fields = dict(re.findall(r'^(name|version|checksum) = "(.*)"$', block, re.M))
        if "checksum" in fields:
            found[fields["name"], fields["version"]] = fields["checksum"]
    return found


def create_bill_of_materials(built):
    """`built`: platform -> name -> bytes."""
    sums = read_checksums()
    components = [{
        "type": "library", "bom-ref": f"pkg:cargo/{one['name']}@{one['version']}", "name": one["name"], "version": one["version"],
        "scope": "required", "purl": f"pkg:cargo/{one['name']}@{one['version']}",
        "licenses": [{"expression": one["license"].replace("/", " OR ")}] if one["license"] else [],
        "hashes": [{"alg": "SHA-256", "content": sums[one["name"], one["version"]]}],
    } for one in list_libraries()]
    programs = {f"{name}-{platform.name}": content for platform, programs in built.items() for name, content in sorted(programs.items())}
    files = [{"type": "application", "bom-ref": name, "name": name.removesuffix(f"-{platform.name}"), "version": VERSION,
              "licenses": [{"expression": LICENCE}], "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(programs[name]).hexdigest()}],
              "properties": [{"name": "platform", "value": platform.name}]}
             for platform in built for name in sorted(programs) if name.endswith(platform.name)]
    everything = [one["bom-ref"] for one in components]
    return dumps({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, hashlib.sha256(b''.join(programs.values())).hexdigest())}",
        "metadata": {"component": {"type": "application", "bom-ref": "tandem", "name": "tandem", "version": VERSION,
                                   "licenses": [{"expression": LICENCE}]},
                     "supplier": {"name": PUBLISHER["authors"], "url": [PUBLISHER["homepage"]]}},
        "components": files + components,
        "dependencies": [{"ref": "tandem", "dependsOn": sorted(programs)}] + [{"ref": name, "dependsOn": everything} for name in sorted(programs)],
    })


def collect_licences():
    """Collects the text of each licence once, with its libraries: MIT, BSD and Apache-2.0 require a copy."""
    texts = {}
    for one in list_libraries():
        folder = pathlib.Path(one["manifest_path"]).parent
        files = [file for file in sorted(folder.iterdir()) if file.is_file() and re.match(r"(?i)(licen[cs]e|copying|notice|unlicense)", file.name)]
        for file in files:
            text = "\n".join(line.rstrip() for line in file.read_text(errors="replace").strip().splitlines())
            texts.setdefault(text, []).append(f"{one['name']} {one['version']}")
        if not files:
            texts.setdefault(f"(no text in the package; its licence is {one['license']})", []).append(f"{one['name']} {one['version']}")
    parts = [f"{'=' * 100}\n{', '.join(dict.fromkeys(owners))}\n{'=' * 100}\n\n{text}\n" for text, owners in texts.items()]
    return ("Libraries in tandem-dap and tandem-mcp, and their licences.\n\n" + "\n".join(parts)).encode()
