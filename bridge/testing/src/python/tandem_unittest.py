"""Lists or runs the tests of unittest for Tandem: python tandem_unittest.py list|run START [ID...]"""
import inspect
import os
import sys
import time
import traceback
import unittest

from tandem_reports import report, shorten, wanted
from tandem_stop import stop_at

TOP = os.getcwd()


def flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


def is_broken(test):
    return type(test).__name__ in ("_FailedTest", "ModuleImportFailure")


def found(start):
    loader = unittest.TestLoader()
    folder, pattern = (start, None) if os.path.isdir(start) else (os.path.dirname(start), os.path.basename(start))
    seen = {}
    for one in [pattern] if pattern else ["test*.py", "*_test.py"]:
        for test in flat(loader.discover(folder, pattern=one, top_level_dir=TOP)):
            seen.setdefault(test.id(), test)
    return list(seen.values())


def function_of(test):
    return getattr(type(test), getattr(test, "_testMethodName", ""), None)


def place_of(test):
    try:
        function = inspect.unwrap(function_of(test))
        return inspect.getsourcefile(function), inspect.getsourcelines(function)[1]
    except (TypeError, OSError):
        return None, None


def send_broken(test):
    error = getattr(test, "_exception", None)
    text = str(error)
    file, line = "", 0
    for part in text.splitlines():
        words = part.strip()
        if words.startswith("File \"") and "\", line " in words:
            file, _, rest = words[6:].partition("\", line ")
            line = int(rest.split(",")[0])
    report("broken", file=file, line=line, message=shorten(text.strip().splitlines()[-1] if text.strip() else test.id()))


def send_test(test):
    file, line = place_of(test)
    function = function_of(test)
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
        self.began = 0.0
        self.bad = set()

    def startTest(self, test):
        self.began = time.monotonic()
        report("started", id=test.id())
        super().startTest(test)

    def finish(self, test, outcome, message="", error=None):
        file, line, calls = None, None, []
        if error is not None:
            stop_at(error)
            for frame in traceback.extract_tb(error[2]):
                calls.insert(0, f"{frame.filename}:{frame.lineno}: in {frame.name}")
                if frame.filename.startswith(TOP) and "site-packages" not in frame.filename:
                    file, line = frame.filename, frame.lineno
            name = error[0].__name__
            message = f"{name}: {error[1]}" if str(error[1]) else name
        output = "".join(part.getvalue() for part in (self._stdout_buffer, self._stderr_buffer) if part is not None)
        if outcome == "failed":
            self.bad.add(test.id())
        report("finished", id=test.id(), outcome=outcome, message=shorten(message), file=file, line=line,
               stack=shorten("\n".join(calls[:30])), output=shorten(output),
               durationMs=int((time.monotonic() - self.began) * 1000))

    def tests_of(self, holder):
        """The tests of `setUpClass (module.Class)`, none of which runs."""
        self.began = time.monotonic()
        owner = holder.id().partition("(")[2].rstrip(")")
        return [one for one in self.tests if one.id().startswith(owner + ".")]

    def addSuccess(self, test):
        if test.id() not in self.bad:
            self.finish(test, "passed")

    def addError(self, test, error):
        if isinstance(test, unittest.TestCase):
            return self.finish(test, "failed", error=error)
        for one in self.tests_of(test):
            self.finish(one, "failed", error=error)

    def addFailure(self, test, error):
        self.finish(test, "failed", error=error)

    def addSkip(self, test, reason):
        for one in [test] if isinstance(test, unittest.TestCase) else self.tests_of(test):
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
    sys.path.insert(0, TOP)
    tests = found(start)
    broken = [test for test in tests if is_broken(test)]
    for test in broken:
        send_broken(test)
    tests = [test for test in tests if not is_broken(test)]
    if mode == "list":
        for test in tests:
            send_test(test)
        return 0
    ids = wanted() or set(ids)
    if ids:
        tests = [test for test in tests if test.id() in ids]
    report("planned", count=len(tests))
    result = Result(tests)
    result.buffer = not os.environ.get("TANDEM_TEST_DEBUGGED")
    unittest.TestSuite(tests).run(result)
    return 0 if result.wasSuccessful() and not result.bad and not broken else 1


if __name__ == "__main__":
    sys.exit(main())
