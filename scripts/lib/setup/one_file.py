"""Creates a self-contained program in one file, as `dotnet publish -p:PublishSingleFile=true` does: an executable with the runtime
linked into it, and behind that a bundle of assemblies (the format is that of dotnet/runtime's
`Microsoft.NET.HostModel/Bundle`, version 6). No registry has an SDK that could; the executable of another such program replaces it.
"""
import json, struct

# The 8 bytes before it are the offset of the bundle.
BUNDLE_MARKER = bytes.fromhex("8b1202b96a612038727b930214d7a03213f5b9e6efae3318ee3b2dce24b36aae")
ASSEMBLY, DEPS, RUNTIME_CONFIG = 1, 3, 4
# The runtime maps assemblies in pages.
PAGE_SIZE = 4096


def extract_host(program):
    """Returns the executable without its bundle."""
    data = program.read_bytes()
    position = struct.unpack_from("<q", data, data.index(BUNDLE_MARKER) - 8)[0]
    count = struct.unpack_from("<i", data, position + 8)[0]
    # Versions, count, an id; places and sizes of two files, and flags.
    position += 12
    position += 1 + data[position] + 40
    offsets = []
    for _ in range(count):
        offsets.append(struct.unpack_from("<q", data, position)[0])
        # Offset, size, compressed size, kind, path.
        position += 25
        length, shift = 0, 0
        while True:
            byte = data[position]
            length, shift, position = length | (byte & 127) << shift, shift + 7, position + 1
            if byte < 128:
                break
        position += length
    return data[:min(offsets)]


def encode_string(string):
    encoded = string.encode()
    assert len(encoded) < 128
    return bytes([len(encoded)]) + encoded


def create_bundle(host, host_name, runtime, pack, assembly):
    """Returns the bytes of the program. `pack` contains the name of the runtime's package and its entry of a deps.json."""
    out = bytearray(host)
    # The host knows the assembly that it starts by its name, which has room.
    old, new = f"{host_name}.dll".encode() + b"\0", assembly.name.encode() + b"\0"
    assert out.count(old) == 1 and len(new) <= len(old)
    offset = out.index(old)
    out[offset:offset + len(old)] = new.ljust(len(old), b"\0")
    (pack_name, version), entry = pack["name"].split("/"), pack["entry"]
    name = assembly.stem
    deps = {
        "runtimeTarget": {"name": ".NETCoreApp,Version=v9.0/linux-x64", "signature": ""},
        "compilationOptions": {},
        "targets": {".NETCoreApp,Version=v9.0/linux-x64": {
            f"{name}/1.0.0": {"dependencies": {pack_name: version}, "runtime": {assembly.name: {}}},
            pack["name"]: {"runtime": entry["runtime"]}}},
        "libraries": {f"{name}/1.0.0": {"type": "project", "serviceable": False, "sha512": ""},
                      pack["name"]: {"type": "runtimepack", "serviceable": False, "sha512": ""}},
    }
    config = {"runtimeOptions": {
        "tfm": "net9.0", "includedFrameworks": [{"name": "Microsoft.NETCore.App", "version": version}],
        "configProperties": {"System.Globalization.Invariant": True}}}
    files = [(file, ASSEMBLY, (runtime / file).read_bytes()) for file in entry["runtime"] if (runtime / file).exists()]
    files += [(assembly.name, ASSEMBLY, assembly.read_bytes()), (f"{name}.deps.json", DEPS, json.dumps(deps).encode()),
              (f"{name}.runtimeconfig.json", RUNTIME_CONFIG, json.dumps(config).encode())]
    entries = []
    for file, kind, content in files:
        out += bytes(-len(out) % PAGE_SIZE)
        entries.append((len(out), len(content), kind, file))
        out += content
    header = len(out)
    (deps_at, deps_size, *_), (config_at, config_size, *_) = entries[-2:]
    out += struct.pack("<IIi", 6, 0, len(entries)) + encode_string("tandem-tests")
    out += struct.pack("<qqqqQ", deps_at, deps_size, config_at, config_size, 0)
    for offset, size, kind, file in entries:
        out += struct.pack("<qqqB", offset, size, 0, kind) + encode_string(file)
    struct.pack_into("<q", out, out.index(BUNDLE_MARKER) - 8, header)
    return bytes(out)
