"""Writes reports to the pipe that Tandem names, one JSON object per line. Never raises an exception or prints."""
import json
import os

_pipe = None
MAX_TEXT = 32 * 1024


def shorten(text):
    text = str(text)
    if len(text) <= MAX_TEXT:
        return text
    return text[: MAX_TEXT // 4] + "\n[...]\n" + text[-MAX_TEXT // 4 * 3 :]


def report(event, **fields):
    global _pipe
    try:
        if _pipe is None:
            _pipe = open(os.environ["TANDEM_TEST_REPORTS"], "ab", buffering=0)
        fields = {name: value for name, value in fields.items() if value is not None}
        line = json.dumps({"event": event, **fields}) + "\n"
        _pipe.write(line.encode("ascii"))
    except (OSError, KeyError, ValueError, TypeError):
        pass


def is_own_file(path, folders):
    """Whether a source is below one of these folders, by its path or behind symbolic links, and not an installed package."""
    own = [os.path.join(form, "") for folder in folders for form in (folder, os.path.realpath(folder))]
    return "site-packages" not in path and any(form.startswith(tuple(own)) for form in (path, os.path.realpath(path)))


def read_selected_ids():
    """Returns the ids of the selected tests if they are too many for a command line, otherwise None."""
    path = os.environ.get("TANDEM_TEST_IDS")
    if not path:
        return None
    with open(path, encoding="utf-8") as file:
        return set(json.load(file))
