"""Lists or runs the tests of unittest for Tandem: python tandem_unittest.py list|run START [ID...]"""
import inspect
import os
import sys
import time
import traceback
import unittest

from tandem_reports import report, shorten, read_selected_ids
from tandem_stop import stop_at

ROOT_FOLDER = os.getcwd()


def iterate_tests(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from iterate_tests(test)
        else:
            yield test


def is_broken(test):
    return type(test).__name__ in ("_FailedTest", "ModuleImportFailure")


def discover_tests(start):
    loader = unittest.TestLoader()
    folder, pattern = (start, None) if os.path.isdir(start) else (os.path.dirname(start), os.path.basename(start))
    seen = {}
    for pattern in [pattern] if pattern else ["test*.py", "*_test.py"]:
        for test in iterate_tests(loader.discover(folder, pattern=pattern, top_level_dir=ROOT_FOLDER)):
            seen.setdefault(test.id(), test)
    return list(seen.values())


def get_function(test):
    return getattr(type(test), getattr(test, "_testMethodName", ""), None)


def find_location(test):
    try:
        function = inspect.unwrap(get_function(test))
        return inspect.getsourcefile(function), inspect.getsourcelines(function)[1]
    except (TypeError, OSError):
        return None, None


def send_broken(test):
    error = getattr(test, "_exception", None)
    text = str(error)
    file, line = "", 0
    for part in text.splitlines():
        line_text = part.strip()
        if line_text.startswith("File \"") and "\", line " in line_text:
            file, _, rest = line_text[6:].partition("\", line ")
            line = int(rest.split(",")[0])
    report("broken", file=file, line=line, message=shorten(text.strip().splitlines()[-1] if text.strip() else test.id()))


def send_test(test):
    file, line = find_location(test)
    function = get_function(test)
    skipped = None
    for owner in (function, type(test)):
        if getattr(owner, "__unittest_skip__", False):
            skipped = getattr(owner, "__unittest_skip_why__", "") or "skipped"
            break
    report("test", id=test.id(), file=file, line=line, skipped=skipped, **{"class": test.id().rpartition(".")[0]})


class Result(unittest.TestResult):
    def __init__(self, tests):
        super().__init__()
        self.tests = tests
        self.start_time = 0.0
        self.failed_ids = set()

    def startTest(self, test):
        self.start_time = time.monotonic()
        report("started", id=test.id())
        super().startTest(test)

    def finish(self, test, outcome, message="", error=None):
        file, line, calls = None, None, []
        if error is not None:
            stop_at(error)
            for frame in traceback.extract_tb(error[2]):
                calls.insert(0, f"{frame.filename}:{frame.lineno}: in {frame.name}")
                if frame.filename.startswith(ROOT_FOLDER) and "site-packages" not in frame.filename:
                    file, line = frame.filename, frame.lineno
            name = error[0].__name__
            message = f"{name}: {error[1]}" if str(error[1]) else name
        output = "".join(part.getvalue() for part in (self._stdout_buffer, self._stderr_buffer) if part is not None)
        if outcome == "failed":
            self.failed_ids.add(test.id())
        report("finished", id=test.id(), outcome=outcome, message=shorten(message), file=file, line=line,
               stack=shorten("\n".join(calls[:30])), output=shorten(output),
               durationMs=int((time.monotonic() - self.start_time) * 1000))

    def list_tests_of(self, fixture):
        """Returns the tests of the class of a failed or skipped fixture, `setUpClass (module.Class)`: none of them runs."""
        self.start_time = time.monotonic()
        owner = fixture.id().partition("(")[2].rstrip(")")
        return [one for one in self.tests if one.id().startswith(owner + ".")]

    def addSuccess(self, test):
        if test.id() not in self.failed_ids:
            self.finish(test, "passed")

    def addError(self, test, error):
        if isinstance(test, unittest.TestCase):
            return self.finish(test, "failed", error=error)
        for one in self.list_tests_of(test):
            self.finish(one, "failed", error=error)

    def addFailure(self, test, error):
        self.finish(test, "failed", error=error)

    def addSkip(self, test, reason):
        for one in [test] if isinstance(test, unittest.TestCase) else self.list_tests_of(test):
            self.finish(one, "skipped", message=str(reason))

    def addExpectedFailure(self, test, error):
        self.finish(test, "skipped", message="expected to fail")

    def addUnexpectedSuccess(self, test):
        self.finish(test, "failed", message="it was expected to fail, and passed")

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.finish(test, "failed", error=error)


def main():
    mode, start, *ids = sys.argv[1:]
    sys.path.insert(0, ROOT_FOLDER)
    tests = discover_tests(start)
    broken = [test for test in tests if is_broken(test)]
    for test in broken:
        send_broken(test)
    tests = [test for test in tests if not is_broken(test)]
    if mode == "list":
        for test in tests:
            send_test(test)
        return 0
    ids = read_selected_ids() or set(ids)
    if ids:
        tests = [test for test in tests if test.id() in ids]
    report("planned", count=len(tests))
    result = Result(tests)
    result.buffer = not os.environ.get("TANDEM_TEST_DEBUGGED")
    unittest.TestSuite(tests).run(result)
    return 0 if result.wasSuccessful() and not result.failed_ids and not broken else 1


if __name__ == "__main__":
    sys.exit(main())
