"""The general archive and the package of Debian: programs, man pages, completions, licences."""
import hashlib

from . import archive
from .archive import FILE, PROGRAM
from .facts import DESCRIPTION, LICENCES, PUBLISHER, VERSION, read_file


def create_tarball(platform, programs, pages, third_parties):
    top = f"tandem-{VERSION}-{platform.name}"
    members = [(f"{top}/bin/{name}", content, PROGRAM) for name, content in sorted(programs.items())]
    members += [(f"{top}/share/{name}", content, FILE) for name, content in sorted(pages.items())]
    members += [(f"{top}/{name}", read_file(name), FILE) for name in (*LICENCES, "README.md", "CHANGELOG.md")]
    members.append((f"{top}/THIRD-PARTY.txt", third_parties, FILE))
    return f"{top}.tar.gz", archive.compress_gzip(archive.create_tar(members))


def create_debian_package(platform, programs, pages, third_parties):
    members = [(f"usr/bin/{name}", content, PROGRAM) for name, content in sorted(programs.items())]
    moved = {"zsh/site-functions/": "zsh/vendor-completions/"}
    for name, content in sorted(pages.items()):
        for source, target in moved.items():
            name = name.replace(source, target)
        if name.startswith("man/"):
            name, content = f"{name}.gz", archive.compress_gzip(content)
        members.append((f"usr/share/{name}", content, FILE))
    copyright = ("Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
                 f"Upstream-Name: tandem\nSource: {PUBLISHER['repository']}\n\nFiles: *\nCopyright: 2026 {PUBLISHER['authors']}\n"
                 "License: MIT or Apache-2.0\n On Debian systems the text of the Apache licence is in\n /usr/share/common-licenses/Apache-2.0.\n .\n"
                 + "".join(f" {line}\n" if line else " .\n" for line in read_file("LICENSE-MIT").decode().splitlines())).encode()
    docs = {"copyright": copyright, "changelog.gz": archive.compress_gzip(read_file("CHANGELOG.md")), "THIRD-PARTY.txt.gz": archive.compress_gzip(third_parties)}
    members += [(f"usr/share/doc/tandem/{name}", content, FILE) for name, content in sorted(docs.items())]
    members.sort()
    size = sum(len(content) for _, content, _ in members) // 1024
    # What C library it needs, and that alone: debuggers of other languages are the user's choice.
    control = (f"Package: tandem\nVersion: {VERSION}\nArchitecture: {platform.debian}\nMaintainer: {PUBLISHER['authors']} <{PUBLISHER['email']}>\n"
               f"Installed-Size: {size}\nDepends: libc6 (>= 2.28)\nSuggests: gdb, lldb, python3-debugpy, delve, ruby-debug\n"
               f"Section: devel\nPriority: optional\nHomepage: {PUBLISHER['homepage']}\nDescription: debugger that an editor and an AI agent share\n"
               + "".join(f" {line}\n" for line in DESCRIPTION.splitlines()))
    sums = "".join(f"{hashlib.md5(content).hexdigest()}  {name}\n" for name, content, _ in members)
    # dpkg wants names that begin with `./`.
    dotted = [(f"./{name}", content, mode) for name, content, mode in members]
    inner = archive.create_tar([("./control", control.encode(), FILE), ("./md5sums", sums.encode(), FILE)])
    package = archive.create_ar([("debian-binary", b"2.0\n"), ("control.tar.xz", archive.compress_xz(inner)),
                          ("data.tar.xz", archive.compress_xz(archive.create_tar(dotted, folders=True)))])
    return f"tandem_{VERSION}_{platform.debian}.deb", package
