"""A hook of mkdocs: makes the pages of the repository, which are written for the forge, pages of the book. Files outside docs/ that
readers want become pages, pictures come along, other links out of docs/ become addresses of the repository, a link whose text is a page's
file name gets the page's title, and lists and tables are read as the forge reads them. Fails where a link names a file that is not there;
links inside docs/ are mkdocs's to check."""
import json, logging, pathlib, posixpath, re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPOSITORY = json.loads((ROOT / "publisher.json").read_text())["repository"]
# Files of the repository -> their pages in the book.
PAGES = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "vscode-extension/README.md": "vscode-extension.md",
}
PICTURE_EXTENSIONS = (".png", ".svg")
# `mkdocs build --strict` fails when there was a warning.
log = logging.getLogger("mkdocs.hooks.book")

CODE_PATTERN = re.compile(r"(^[ ]*```.*?^[ ]*```[ ]*$|(?<!`)(`+)(?!`).+?(?<!`)\2(?!`))", re.MULTILINE | re.DOTALL)
# A link: its text if it is a file name, and its address.
LINK_PATTERN = re.compile(r"(?:\[([\w/.-]+\.md)\]|(?<=\]))\(([^()\s]+)\)")
LIST_ITEM_PATTERN = re.compile(r"\s*([-*]|\d+\.) ")


def on_files(files, config):
    for source, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    for picture in sorted((ROOT / "vscode-extension/images").iterdir()):
        if picture.suffix in PICTURE_EXTENSIONS:
            files.append(File.generated(config, f"images/{picture.name}", abs_src_path=str(picture)))
    files.append(File.generated(config, "book.css", abs_src_path=str(ROOT / "scripts/lib/book.css")))
    return files


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    source = next((source for source, made in PAGES.items() if made == uri), f"docs/{uri}")
    pieces, end = [], 0
    for code in CODE_PATTERN.finditer(markdown):
        pieces += [convert_links(markdown[end:code.start()], source, uri), code.group()]
        end = code.end()
    return separate_blocks("".join(pieces) + convert_links(markdown[end:], source, uri))


def convert_links(text, source, uri):
    def convert(match):
        text = match[1] and read_title(posixpath.join(posixpath.dirname(source), match[2].partition("#")[0]))
        return (f"[{text or match[1]}]" if match[1] else "") + f"({convert_link(match[2], source, uri)})"

    return LINK_PATTERN.sub(convert, text)


def read_title(path):
    """Returns the first heading of a page; None for other files and for a page whose heading is the product's name."""
    file = ROOT / posixpath.normpath(path)
    text = file.read_text() if file.is_file() else ""
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1] if found and found[1] != "Tandem" else None


def convert_link(link, source, uri):
    """Converts a link of the repository's file `source` to one of the book's page `uri`."""
    if re.match(r"[a-z]+:|#", link):
        return link
    path, hash, anchor = link.partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    if target.startswith("../") or not (ROOT / target).exists():
        log.warning("%s has a link to `%s`, and no such file is in the repository", source, link)
        return link
    if target in PAGES:
        target = PAGES[target]
    elif target.endswith(PICTURE_EXTENSIONS) and target.startswith("vscode-extension/images/"):
        target = "images/" + posixpath.basename(target)
    elif target.startswith("docs/") and (ROOT / target).is_file():
        target = target.removeprefix("docs/")
    elif target == "docs/editors":
        target = "editors/README.md"
    else:
        return f"{REPOSITORY}/{'tree' if (ROOT / target).is_dir() else 'blob'}/main/{target}{hash}{anchor}"
    return posixpath.relpath(target, posixpath.dirname(uri) or ".") + hash + anchor


def separate_blocks(text):
    """Inserts an empty line before a list after a paragraph and a table after a comment. Python's Markdown needs it, the forge does not."""
    lines, fenced, before = [], False, ""
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        item = LIST_ITEM_PATTERN.match(line) and not LIST_ITEM_PATTERN.match(before) and not before.startswith("  ")
        table = line.startswith("|") and before.endswith("-->")
        if not fenced and before.strip() and (item or table):
            lines.append("")
        lines.append(line)
        before = line
    return "\n".join(lines)
