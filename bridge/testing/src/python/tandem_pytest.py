"""Plug-in of pytest that reports tests and results to Tandem: `-p tandem_pytest`."""
import os

import pytest
from tandem_reports import is_own_file, report, shorten, read_selected_ids
from tandem_stop import stop_at

# Marks that configure how pytest runs a test; the others are traits.
IGNORED_MARKS = {"parametrize", "usefixtures", "filterwarnings", "skip", "skipif", "xfail"}
_comparison = None


def is_worker(config):
    return hasattr(config, "workerinput")


@pytest.hookimpl
def pytest_configure(config):
    """Names sources by their paths: ids begin at the folder of pytest's configuration, arguments at the current one."""
    # The controller of pytest-xdist gets the reports of its workers.
    global _reports_results, _root
    _root = str(config.rootpath)
    _reports_results = not is_worker(config)
    for number, argument in enumerate(config.args):
        file, separator, rest = str(argument).partition("::")
        path = os.path.join(str(config.rootpath), file)
        if file.endswith(".py") and not os.path.exists(file) and os.path.exists(path):
            config.args[number] = path + separator + rest


@pytest.hookimpl(hookwrapper=True)
def pytest_load_initial_conftests(early_config):
    """Reports a `conftest.py` that cannot be loaded: pytest then ends before it collects tests."""
    outcome = yield
    error = outcome.excinfo[1] if outcome.excinfo else None
    file, cause = getattr(error, "path", None), getattr(error, "__cause__", None)
    if file is None or cause is None:
        return
    place = (str(file), 0)
    trace = cause.__traceback__
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        if is_own_file(path, [str(early_config.rootpath)]):
            place = (path, trace.tb_lineno)
        trace = trace.tb_next
    if isinstance(cause, SyntaxError) and cause.filename:
        place = (cause.filename, cause.lineno or 0)
    report("broken", file=place[0], line=place[1], message=shorten(f"{type(cause).__name__}: {cause}"))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    ids = read_selected_ids()
    if ids is not None:
        deselected = [item for item in items if item.nodeid not in ids]
        items[:] = [item for item in items if item.nodeid in ids]
        if deselected:
            config.hook.pytest_deselected(items=deselected)


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
        marks = [mark.name for mark in item.iter_markers() if mark.name not in IGNORED_MARKS]
        file, line = find_declaration(item.location)
        report(
            "test",
            id=item.nodeid,
            file=file,
            line=line,
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
        line_text = part.lstrip("E ").strip()
        if line_text.startswith("File \"") and "\", line " in line_text:
            name, _, rest = line_text[6:].partition("\", line ")
            number = rest.split(",")[0].strip()
        else:
            name, _, rest = line_text.partition(":")
            number = rest.partition(":")[0]
        if number.isdigit() and (name.endswith(".py")):
            file, line = name, int(number)
    messages = [part[1:].strip() for part in text.splitlines() if part.startswith("E ")]
    send("broken", file=file, line=line, message=shorten("\n".join(messages) or text))


@pytest.hookimpl
def pytest_assertrepr_compare(config, op, left, right):
    global _comparison
    if op == "==":
        try:
            _comparison = (shorten(repr(right)), shorten(repr(left)))
        except Exception:
            _comparison = None
    return None


def find_own_location(item, info):
    """Finds the innermost call in the project's own files."""
    # The root may be the folder of the tests, and the code next to it.
    folders = [str(item.config.rootpath), str(item.config.invocation_params.dir)]
    found = None
    for entry in info.traceback:
        path = str(entry.path)
        if is_own_file(path, folders):
            found = (path, entry.lineno + 1)
    return found


def describe_example(error):
    """Returns location, message and comparison of a failed example in documentation: its own call is not on the stack."""
    # Pytest collects the failures of a text if it does not end at the first one.
    error = (getattr(error, "failures", None) or [error])[0]
    test, example = getattr(error, "test", None), getattr(error, "example", None)
    if test is None or example is None:
        return None
    location = [test.filename, None if test.lineno is None else test.lineno + example.lineno + 1]
    if hasattr(error, "got"):
        return location, f">>> {example.source}Expected:\n{example.want}Got:\n{error.got}", [example.want, error.got]
    kind, value = error.exc_info[:2]
    return location, f">>> {example.source}{kind.__name__}: {value}", [None, None]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    global _comparison
    outcome = yield
    result = outcome.get_result()
    if call.excinfo is None or not result.failed:
        _comparison = None
        return
    example = describe_example(call.excinfo.value)
    location = find_own_location(item, call.excinfo)
    if example:
        result.tandem_location, result.tandem_message, result.tandem_comparison = example
    elif location:
        result.tandem_location = list(location)
    if _comparison and call.excinfo.errisinstance(AssertionError):
        result.tandem_comparison = list(_comparison)
    _comparison = None
    stack = [f"{entry.path}:{entry.lineno + 1}: in {entry.name}" for entry in reversed(call.excinfo.traceback)]
    result.tandem_stack = stack[:30]


@pytest.hookimpl
def pytest_exception_interact(node, call, report):
    stop_at((call.excinfo.type, call.excinfo.value, call.excinfo.tb))


_reports_results = True
_root = ""


def find_declaration(location):
    """Returns file and line of a test, as pytest locates it: relative to its root, lines from 0."""
    path, line, _ = location
    return os.path.join(_root, path), None if line is None else line + 1


@pytest.hookimpl
def pytest_runtest_logstart(nodeid, location):
    if _reports_results:
        file, line = find_declaration(location)
        report("started", id=nodeid, file=file, line=line)


def get_reason(result):
    """Returns why a test failed or was skipped, as the summary of pytest shows it."""
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
    # A subtest that fails fails its test; the report of the test follows.
    subtest = getattr(result, "_sub_test_description", None)
    if not _reports_results or (subtest and not result.failed):
        return
    is_call = result.when == "call"
    if not (is_call or result.failed or (result.skipped and result.when == "setup")):
        return
    message = getattr(result, "tandem_message", None) or get_reason(result)
    if result.failed and not is_call:
        message = f"{result.when} failed: {message}"
    if subtest:
        message = f"{subtest()}: {message}"
    if getattr(result, "wasxfail", None) is not None and result.skipped:
        message = f"expected to fail: {result.wasxfail}"
    location = getattr(result, "tandem_location", None) or [None, None]
    if result.failed and not location[0]:
        location = find_declaration(result.location)
    comparison = getattr(result, "tandem_comparison", None) or [None, None]
    output = "\n".join(text for text in (result.capstdout, result.capstderr, result.caplog) if text)
    send(
        "finished",
        id=result.nodeid,
        outcome=result.outcome,
        message=shorten(message) if result.outcome != "passed" else "",
        expected=comparison[0],
        actual=comparison[1],
        file=location[0],
        line=location[1],
        stack=shorten("\n".join(getattr(result, "tandem_stack", []))),
        output=shorten(output),
        durationMs=int(result.duration * 1000),
    )
