"""Lists or runs the tests of unittest for Tandem: python tandem_unittest.py list|run START [ID...] [-- ARGUMENT...]"""
import argparse
import fnmatch
import inspect
import os
import sys
import time
import traceback
import unittest

from tandem_reports import is_own_file, report, shorten, read_selected_ids
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


class Loader(unittest.TestLoader):
    """Loads `x_test.py`, too. unittest matches the name of each file with one pattern."""

    def _match_path(self, path, full_path, pattern):
        return super()._match_path(path, full_path, pattern) or pattern == "test*.py" and path.endswith("_test.py")


def discover_tests(start, pattern, top):
    folder, pattern = (start, pattern) if os.path.isdir(start) else os.path.split(start)
    return list(iterate_tests(Loader().discover(folder, pattern=pattern, top_level_dir=top)))


def get_function(test):
    return getattr(type(test), getattr(test, "_testMethodName", ""), None)


def find_location(test):
    example = getattr(test, "_dt_test", None)
    if example is not None:
        return example.filename, None if example.lineno is None else example.lineno + 1
    try:
        function = inspect.unwrap(get_function(test))
        return inspect.getsourcefile(function), function.__code__.co_firstlineno
    except (TypeError, OSError, AttributeError):
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
        self.skip_reasons = []
        self.is_finished = True

    def startTest(self, test):
        self.start_time = time.monotonic()
        self.skip_reasons = []
        self.is_finished = False
        file, line = find_location(test)
        report("started", id=test.id(), file=file, line=line)
        super().startTest(test)

    def stopTest(self, test):
        # unittest reports no success of a test that has skipped a subtest.
        if not self.is_finished:
            self.finish(test, "skipped", message="; ".join(self.skip_reasons))
        super().stopTest(test)

    def finish(self, test, outcome, message="", error=None, subtest=""):
        self.is_finished = True
        file, line, calls = None, None, []
        if error is not None:
            stop_at(error)
            for frame in traceback.extract_tb(error[2]):
                calls.insert(0, f"{frame.filename}:{frame.lineno}: in {frame.name}")
                if is_own_file(frame.filename, [ROOT_FOLDER]):
                    file, line = frame.filename, frame.lineno
            name = error[0].__name__
            message = f"{name}: {error[1]}" if str(error[1]) else name
            message = f"{subtest}: {message}" if subtest else message
        if outcome == "failed" and file is None and isinstance(test, unittest.TestCase):
            file, line = find_location(test)
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

    def stop_early(self):
        if self.failfast:
            self.stop()

    def addError(self, test, error):
        self.stop_early()
        if isinstance(test, unittest.TestCase):
            return self.finish(test, "failed", error=error)
        for one in self.list_tests_of(test):
            self.finish(one, "failed", error=error)

    def addFailure(self, test, error):
        self.stop_early()
        self.finish(test, "failed", error=error)

    def addSkip(self, test, reason):
        if hasattr(test, "test_case"):
            self.skip_reasons.append(f"{test._subDescription()}: {reason}")
            return
        for one in [test] if isinstance(test, unittest.TestCase) else self.list_tests_of(test):
            self.finish(one, "skipped", message=str(reason))

    def addExpectedFailure(self, test, error):
        self.finish(test, "skipped", message="expected to fail")

    def addUnexpectedSuccess(self, test):
        self.stop_early()
        self.finish(test, "failed", message="it was expected to fail, and passed")

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.stop_early()
            self.finish(test, "failed", error=error, subtest=subtest._subDescription())


def parse_arguments(arguments):
    """Parses the arguments of `python -m unittest` and of its `discover`."""
    parser = argparse.ArgumentParser(prog="unittest", add_help=False, allow_abbrev=False)
    parser.add_argument("names", nargs="*")
    parser.add_argument("-k", dest="patterns", action="append", default=[])
    parser.add_argument("-f", "--failfast", action="store_true")
    parser.add_argument("-p", "--pattern", default="test*.py")
    parser.add_argument("-s", "--start-directory")
    parser.add_argument("-t", "--top-level-directory")
    # Options of the output, which Tandem reads.
    for names in (["-v", "--verbose"], ["-q", "--quiet"], ["-b", "--buffer"], ["-c", "--catch"], ["--locals"]):
        parser.add_argument(*names, action="store_true")
    parser.add_argument("--durations")
    chosen = parser.parse_intermixed_args(arguments)
    if chosen.names[:1] == ["discover"]:
        # Its positional arguments are the folder, the pattern and the top folder.
        for name, value in zip(("start_directory", "pattern", "top_level_directory"), chosen.names[1:]):
            setattr(chosen, name, value)
        chosen.names = []
    return chosen


def is_chosen(test, chosen):
    """Whether the names and patterns of the arguments choose a test, as unittest matches them."""
    names, patterns = chosen.names, [pattern if "*" in pattern else f"*{pattern}*" for pattern in chosen.patterns]
    return (not names or any(f"{test.id()}.".startswith(f"{name}.") for name in names)) and (
        not patterns or any(fnmatch.fnmatchcase(test.id(), pattern) for pattern in patterns)
    )


def main():
    mode, start, *ids = sys.argv[1:]
    arguments = ids[ids.index("--") + 1 :] if "--" in ids else []
    ids = ids[: ids.index("--")] if "--" in ids else ids
    chosen = parse_arguments(arguments)
    top = os.path.abspath(chosen.top_level_directory or ROOT_FOLDER)
    sys.path.insert(0, top)
    tests = discover_tests(chosen.start_directory or start, chosen.pattern, top)
    broken = [test for test in tests if is_broken(test)]
    for test in broken:
        send_broken(test)
    tests = [test for test in tests if not is_broken(test) and is_chosen(test, chosen)]
    if mode == "list":
        for test in tests:
            send_test(test)
        return 0
    ids = read_selected_ids() or set(ids)
    if ids:
        tests = [test for test in tests if test.id() in ids]
    report("planned", count=len(tests))
    result = Result(tests)
    result.failfast = chosen.failfast
    result.buffer = not os.environ.get("TANDEM_TEST_DEBUGGED")
    unittest.TestSuite(tests).run(result)
    return 0 if result.wasSuccessful() and not result.failed_ids and not broken else 1


if __name__ == "__main__":
    sys.exit(main())
