"""Reports tests and results of pytest to Tandem. A plug-in: `-p tandem_pytest`."""
import os

import pytest
from tandem_reports import report, shorten, wanted
from tandem_stop import stop_at

# Marks that say how a test runs, not what it is.
OWN_MARKS = {"parametrize", "usefixtures", "filterwarnings", "skip", "skipif", "xfail"}
_compared = None


def is_worker(config):
    return hasattr(config, "workerinput")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    ids = wanted()
    if ids is not None:
        left = [item for item in items if item.nodeid not in ids]
        items[:] = [item for item in items if item.nodeid in ids]
        if left:
            config.hook.pytest_deselected(items=left)


def skip_reason(item):
    for mark in item.iter_markers("skip"):
        reason = mark.kwargs.get("reason") or (mark.args[0] if mark.args else "")
        return str(reason) or "skipped"
    try:
        from _pytest.skipping import evaluate_skip_marks

        skipped = evaluate_skip_marks(item)
        return skipped.reason if skipped else None
    except Exception:
        return None


@pytest.hookimpl
def pytest_collection_finish(session):
    if is_worker(session.config):
        return
    if not session.config.option.collectonly:
        return report("planned", count=len(session.items))
    for item in session.items:
        parent = item.nodeid.split("[")[0].rpartition("::")[0]
        marks = [mark.name for mark in item.iter_markers() if mark.name not in OWN_MARKS]
        path, line, _ = item.location
        report(
            "test",
            id=item.nodeid,
            file=os.path.join(str(item.config.rootpath), path),
            line=None if line is None else line + 1,
            traits=sorted(set(marks)),
            skipped=skip_reason(item),
            **{"class": parent},
        )


@pytest.hookimpl
def pytest_collectreport(report):
    if not report.failed:
        return
    from tandem_reports import report as send

    text = report.longreprtext
    file, line = str(report.fspath or report.nodeid), 0
    for part in text.splitlines():
        # `E     File "/w/test_a.py", line 3`, or `test_a.py:3: in <module>`.
        words = part.lstrip("E ").strip()
        if words.startswith("File \"") and "\", line " in words:
            name, _, rest = words[6:].partition("\", line ")
            number = rest.split(",")[0].strip()
        else:
            name, _, rest = words.partition(":")
            number = rest.partition(":")[0]
        if number.isdigit() and (name.endswith(".py")):
            file, line = name, int(number)
    said = [part[1:].strip() for part in text.splitlines() if part.startswith("E ")]
    send("broken", file=file, line=line, message=shorten("\n".join(said) or text))


@pytest.hookimpl
def pytest_assertrepr_compare(config, op, left, right):
    global _compared
    if op == "==":
        try:
            _compared = (shorten(repr(right)), shorten(repr(left)))
        except Exception:
            _compared = None
    return None


def own_place(item, info):
    """The innermost call in the project's own files."""
    root = str(item.config.rootpath)
    found = None
    for entry in info.traceback:
        path = str(entry.path)
        if path.startswith(root) and "site-packages" not in path:
            found = (path, entry.lineno + 1)
    return found


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    global _compared
    outcome = yield
    result = outcome.get_result()
    if call.excinfo is None or not result.failed:
        _compared = None
        return
    place = own_place(item, call.excinfo)
    if place:
        result.tandem_place = list(place)
    if _compared and call.excinfo.errisinstance(AssertionError):
        result.tandem_compared = list(_compared)
    _compared = None
    calls = [f"{entry.path}:{entry.lineno + 1}: in {entry.name}" for entry in reversed(call.excinfo.traceback)]
    result.tandem_calls = calls[:30]


@pytest.hookimpl
def pytest_exception_interact(node, call, report):
    stop_at((call.excinfo.type, call.excinfo.value, call.excinfo.tb))


@pytest.hookimpl
def pytest_runtest_logstart(nodeid, location):
    report("started", id=nodeid)


def reason(result):
    """Why it failed or was skipped, in the words that pytest puts first."""
    representation = result.longrepr
    if isinstance(representation, tuple):
        text = str(representation[2])
        return text[9:] if text.startswith("Skipped: ") else text
    crash = getattr(representation, "reprcrash", None)
    if crash is not None:
        return crash.message
    return str(representation or "")


@pytest.hookimpl
def pytest_runtest_logreport(report):
    from tandem_reports import report as send

    result = report
    is_call = result.when == "call"
    if not (is_call or result.failed or (result.skipped and result.when == "setup")):
        return
    message = reason(result)
    if result.failed and not is_call:
        message = f"{result.when} failed: {message}"
    if getattr(result, "wasxfail", None) is not None and result.skipped:
        message = f"expected to fail: {result.wasxfail}"
    place = getattr(result, "tandem_place", None) or [None, None]
    compared = getattr(result, "tandem_compared", None) or [None, None]
    output = "\n".join(text for text in (result.capstdout, result.capstderr, result.caplog) if text)
    send(
        "finished",
        id=result.nodeid,
        outcome=result.outcome,
        message=shorten(message) if result.outcome != "passed" else "",
        expected=compared[0],
        actual=compared[1],
        file=place[0],
        line=place[1],
        stack=shorten("\n".join(getattr(result, "tandem_calls", []))),
        output=shorten(output),
        durationMs=int(result.duration * 1000),
    )
