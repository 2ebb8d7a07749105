"""Archives whose bytes depend on their content alone: members in a given order, one time for all, no user's name. A member is
(name, content, mode)."""
import gzip, io, lzma, tarfile, time, zipfile

from .facts import EPOCH

FILE, PROGRAM = 0o644, 0o755


def create_tar(members, folders=False):
    """The bytes of a tar; with `folders`, each folder is a member too, as packages of Debian have it."""
    out, made = io.BytesIO(), set()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        def add(name, kind, mode, content=b""):
            info = tarfile.TarInfo(name)
            info.type, info.mode, info.mtime, info.size = kind, mode, EPOCH, len(content)
            info.uname = info.gname = "root"
            archive.addfile(info, io.BytesIO(content))

        for name, content, mode in members:
            parts = name.split("/")[:-1]
            for end in range(1, len(parts) + 1) if folders else ():
                folder = "/".join(parts[:end])
                if folder not in made:
                    made.add(folder)
                    add(folder, tarfile.DIRTYPE, 0o755)
            add(name, tarfile.REGTYPE, mode, content)
    return out.getvalue()


def compress_gzip(data):
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=9, mtime=0) as file:
        file.write(data)
    return out.getvalue()


def compress_xz(data):
    return lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)


def create_ar(members):
    """The archive that a package of Debian is."""
    out = bytearray(b"!<arch>\n")
    for name, content in members:
        out += f"{name:<16}{EPOCH:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode() + content + b"\n" * (len(content) % 2)
    return bytes(out)


def create_zip(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content, mode in members:
            info = zipfile.ZipInfo(name, time.gmtime(EPOCH)[:6])
            info.compress_type, info.create_system, info.external_attr = zipfile.ZIP_DEFLATED, 3, (0o100000 | mode) << 16
            archive.writestr(info, content)
    return out.getvalue()
