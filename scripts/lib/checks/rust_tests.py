"""Runs the Rust tests: selects them by level, runs them with nextest or cargo, and reports flaky and slow ones."""
import contextlib, json, os, pathlib, shutil, subprocess, xml.etree.ElementTree as ElementTree

from .steps import print_line

# Modules of integration tests that name a .NET runtime; the macros in tests/harness/src/declarations.rs declare them.
NET31, NET8, NET9, NET10 = "on_net31", "on_net8", "on_net9", "on_net10"
# Part of the names of tests that repeat on the pinned Ruby debugger what the machine's shows.
SECOND_RUBY_DEBUGGER = "_with_debug_1_9_2"
# Parts of the names of tests that take a core for 3 to 35 seconds each, while others of the gate show the same code on less.
SLOW_TESTS = [
    # Campaigns at their short setting, crowds of clients, busy loops, and the C# compiler at its limits.
    "an_expression_that_is_too_much_has_an_answer", "parts_that_are_killed", "sessions_in_a_row", "hostile_adapters",
    "a_program_that_is_killed_while_it_is_looked_at_leaves_no_request_unanswered", "http::fifty_agents_are_served_at_once",
    "another_user_takes_no_place_from_an_agent", "a_busy_process_with_many_threads_and_modules_survives_repeated_attach_and_detach",
    "on_a_loaded_machine_one_that_polls_sleeps_and_one_that_works_does_not", "two_sessions_make_the_compilers_process_at_once",
    # Expressions at random; those that were chosen stay.
    "random_expressions_have_the_values_that_the_program_prints", "random_expressions_of_today_have_the_values_that_the_program_prints",
    # Huge values; pages of large ones stay.
    "huge_values_are_returned_in_parts_whatever_is_requested", "an_array_of_a_hundred_million_is_answered_in_part_and_can_be_paged",
    # The rare cases of each test framework; its list, a run and a debugged failure are in the gate.
    "frameworks::every_case_of_",
    # Further frameworks for what one framework of the language shows.
    "test_expected::on_net10::with_nunit", "test_expected::on_net10::with_mstest", "test_expected::on_net10::with_tunit",
    "test_expected::with_jest", "test_expected::with_vitest", "test_expected::with_googletest", "other_panics_than_expected_stop",
    "frameworks::tests_of_jest_", "a_file_of_jest_is_run_by_jest", "nothing_is_left_of_jest", "nothing_is_left_of_vitest",
    "nothing_is_left_of_googletest", "assertions_that_fail_together_stop_where_they_end",
    "a_flaky_test_of_cargo_is_repeated_until_it_fails_and_is_built_again_by_a_restart",
    "a_flaky_test_of_xunit_is_repeated_until_it_fails_and_stops_there", "a_flaky_test_of_node_is_repeated_until_it_fails_and_stops_there",
    # Solutions and projects of .NET that are built and run several times; a filter of a solution and one program stay.
    "tests_of_a_solution_are_told_apart_by_their_project", "a_project_for_two_frameworks_has_its_tests_in_each",
    "tests_of_a_solution_are_debugged_one_project_after_the_other", "a_solution_without_a_program_is_refused",
    "solution_starts_the_program_that_msbuild_names",
    # A project of Visual Basic and a file without a project are also among `sdk_programs`, which stay.
    "a_project_of_visual_basic_is_built_and_debugged", "a_file_without_a_project_is_built_and_debugged", "a_file_may_name_another_sdk",
    # Several debuggers in a row; those of Python, and of C under gdb, stay.
    "conditions_on_one_line_hold_each_for_itself_under_every_adapter", "conditions::js_stops_where_a_condition_fails",
    "conditions::lldb_stops_where_a_condition_fails", "a_line_of_input_is_handled_otherwise_in_javascript",
    "a_line_of_input_is_handled_otherwise_in_c_under_lldb",
    # The level between the two that stay.
    "no_repository_is_obeyed_when_agents_may_look_and_run_commands",
]
# Most tests wait for processes that they start: a test takes a core for less than a third of its time. Those that compile or start
# test runners count for two (threads-required in .config/nextest.toml).
TESTS_PER_CORE = 3
# The 10 slowest tests are listed, and only those that take this long, in seconds.
MIN_LISTED_SECONDS = 8
MAX_LISTED = 10


class TestEnvironment:
    """Runtimes and tools of this machine, from env.json."""

    def __init__(self, cache):
        file = cache / "env.json"
        self.environment = json.loads(file.read_text()) if file.exists() else {}

    def has_runtime(self, major):
        versions = (self.environment.get("installed") or {}).get("runtimes", [])
        return any(version.startswith(f"{major}.") for version in versions)

    def list_skipped(self):
        """Returns rows of (part of the names of tests, why they are skipped) for missing runtimes and permissions."""
        rows = []
        if not (self.environment.get("modern") and self.has_runtime(10)):
            rows.append((f"{NET10}::", "the tests on .NET 10: no .NET SDK 10 is installed"))
        if not self.has_runtime(8):
            rows.append((f"{NET8}::", "the tests on .NET 8: no .NET SDK with a runtime 8 is installed"))
        if not (self.has_runtime(10) and os.path.isdir(os.environ.get("TANDEM_DOTNET_FORMS", ""))):
            rows.append(("published_programs::", "the tests of published programs: TANDEM_DOTNET_FORMS names no folder of them"))
        if os.geteuid() != 0:
            rows.append(("other_users::another_user_", "the tests with another user: only root can be one"))
        return rows

    def list_all_only(self):
        """Returns parts of the names of tests that only `--all` runs: slow tests, and modules for runtimes other than .NET 10 (or 9 without an
        SDK 10). Tests for old runtimes only (`older_dotnet_tests!`) run on 9."""
        newest = self.environment.get("modern") and self.has_runtime(10)
        repeated = [f"::{NET31}::", f"::{NET8}::", f"::older_{NET31}::", SECOND_RUBY_DEBUGGER, *SLOW_TESTS]
        return [*repeated, f"::{NET9}::"] if newest else repeated


def create_filter(left_out, repeated):
    """Creates a filter expression of nextest."""
    terms = [f"test({name})" for name, _ in left_out] + [f"test(/{name}/)" for name in repeated]
    return " and ".join(["all()", *(f"not {term}" for term in terms)])


def run(found, everything):
    """Runs the tests of the gate, or every test. Returns (exit status, names of flaky tests)."""
    if os.environ.get("TANDEM_SKIP_TOOLCHAINS") == "1":
        chosen, skipped = "not package(tandem-tests) and not package(tandem-campaigns)", None
    else:
        left_out, repeated = found.list_skipped(), [] if everything else found.list_all_only()
        chosen, skipped = create_filter(left_out, repeated), [name for name, _ in left_out] + [name.removeprefix("::") for name in repeated]
    if shutil.which("cargo-nextest") is None:
        return run_without_nextest(skipped), []
    # A test that fails once and then passes is a fault of the test or of the product, but not of the change that CI looks at.
    profile = "ci" if os.environ.get("CI") and not everything else "default"
    report = get_target_folder() / "nextest" / profile / "junit.xml"
    report.unlink(missing_ok=True)
    done = subprocess.run(["cargo", "nextest", "run", "--workspace", "--locked", "--no-fail-fast", "--profile", profile,
                           "--test-threads", str(TESTS_PER_CORE * (os.cpu_count() or 1)), "-E", chosen])
    return done.returncode, read_report(report)


def run_without_nextest(skipped):
    print_line("check: cargo-nextest is not installed: `cargo test` runs the tests, without time limits and without a second attempt")
    if skipped is None:
        return subprocess.run(["cargo", "test", "--workspace", "--exclude", "tandem-tests", "--exclude", "tandem-campaigns", "--no-fail-fast"]).returncode
    names = [word for name in skipped for word in ("--skip", name)]
    return subprocess.run(["cargo", "test", "--workspace", "--no-fail-fast", "--", *names]).returncode


def read_report(report):
    """Prints the slowest tests and returns the names of those that passed only at the second attempt."""
    if not report.exists():
        return []
    cases = list(ElementTree.parse(report).iter("testcase"))
    slow = sorted(((float(case.get("time", 0)), case.get("name")) for case in cases), reverse=True)[:MAX_LISTED]
    for seconds, name in slow:
        if seconds >= MIN_LISTED_SECONDS:
            print_line(f"slow: {seconds:6.1f} s  {name}")
    return [case.get("name") for case in cases if case.find("flakyFailure") is not None]


def run_long(found):
    """Runs the ignored tests whose names begin with `long_`."""
    left_out = found.list_skipped()
    if shutil.which("cargo-nextest") is None:
        names = [word for name, _ in left_out for word in ("--skip", name)]
        return subprocess.run(["cargo", "test", "--workspace", "--no-fail-fast", "--", "--ignored", "long_", *names]).returncode
    chosen = f"test(/(^|::)long_/) and {create_filter(left_out, [])}"
    return subprocess.run(["cargo", "nextest", "run", "--workspace", "--locked", "--no-fail-fast", "--profile", "long",
                           "--run-ignored", "only", "-E", chosen]).returncode


def run_repeatedly(times, pattern):
    """Runs the tests whose names contain `pattern` the given number of times, with a busy loop on each core."""
    chosen = f"test({pattern}) and not test(/(^|::)long_/)"
    with keep_cores_busy():
        if shutil.which("cargo-nextest"):
            return subprocess.run(["cargo", "nextest", "run", "--workspace", "--locked", "--no-fail-fast", "--stress-count", str(times),
                                   "-E", chosen]).returncode
        runs = [subprocess.run(["cargo", "test", "--workspace", "--no-fail-fast", pattern]).returncode for _ in range(times)]
        return max(runs)


@contextlib.contextmanager
def keep_cores_busy():
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def get_target_folder():
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or "target")
