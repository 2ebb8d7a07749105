"""Steps of the checks: run sequentially or in parallel, and a summary lists their results and durations. Independent of the checks
themselves."""
import io, os, re, shutil, subprocess, sys, threading, time

# Niceness of steps that no other step waits for.
LOW_PRIORITY_NICENESS = 10
# A failed test in the output of the `spec` reporter of Node's test runner.
FAILED_NODE_TEST = re.compile(r"^\s*✖ (.+) \([0-9.]+ms\)$", re.MULTILINE)


class Steps:
    """Runs steps and keeps their results. A failed step does not end the run: `finish` returns the exit status."""

    def __init__(self):
        self.results, self.notes, self.begun = [], [], time.monotonic()
        self.lock = threading.Lock()

    def run(self, name, action):
        """Runs `action(out)` with its output on the screen; true when it returned no exit status but 0."""
        print_line(f"\n== {name}")
        return self.run_timed(name, action, None)

    def run_in_parallel(self, *rows):
        """Runs rows of (name, action) in parallel, and the steps of a row sequentially. Prints the output of each step at its end. Returns
        whether all passed."""
        return self.start(*rows)()

    def start(self, *rows):
        """Starts rows like `run_in_parallel`; returns a function that waits for them and returns whether all passed."""
        failed = []

        def work(row):
            for name, action in row:
                kept = io.StringIO()
                passed = self.run_timed(name, action, kept)
                with self.lock:
                    print_line(f"\n== {name}{'' if passed else ': FAILED'}\n{kept.getvalue()}".rstrip())
                    failed.extend([] if passed else [name])

        threads = [threading.Thread(target=work, args=(row,)) for row in rows]
        for thread in threads:
            thread.start()

        def wait():
            for thread in threads:
                thread.join()
            return not failed
        return wait

    def run_timed(self, name, action, out):
        begun = time.monotonic()
        try:
            status = action(out)
        except Exception as error:  # A fault of one step must not hide the results of the others.
            print(f"check: {name}: {type(error).__name__}: {error}", file=out or sys.stderr, flush=True)
            status = 1
        with self.lock:
            self.results.append((name, status in (0, None), time.monotonic() - begun))
        return status in (0, None)

    def retry_once(self, name, action):
        """Returns an action that runs `action` again if it fails. The summary then lists the failed tests of Node's runner, otherwise `name`."""
        def attempts(out):
            first = io.StringIO()
            status = action(first)
            print(first.getvalue(), file=out, end="", flush=True)
            if status == 0:
                return status
            print(f"check: {name}: second attempt", file=out, flush=True)
            status = action(out)
            if status == 0:
                for failed in dict.fromkeys(FAILED_NODE_TEST.findall(first.getvalue())) or [name]:
                    self.note(f"FLAKY    {failed}: failed once, then passed")
            return status
        return attempts

    def note(self, text):
        """Adds a line to the summary that is neither a success nor a failure."""
        with self.lock:
            self.notes.append(text)

    def finish(self):
        """Prints the summary and returns the exit status of the checks."""
        print_line("\n== Summary")
        for name, passed, seconds in self.results:
            print_line(f"{'ok     ' if passed else 'FAILED '} {name} ({seconds:.0f} s)")
        for text in self.notes:
            print_line(text)
        print_line(f"{'ok     ' if self.passed() else 'FAILED '} all of it ({time.monotonic() - self.begun:.0f} s)")
        return 0 if self.passed() else 1

    def passed(self):
        return all(passed for _, passed, _ in self.results)


def print_line(text):
    print(text, flush=True)


def command(*words, cwd=None, low_priority=False, **variables):
    """Returns an action that runs a command; its output goes to the screen, or into the step's output. `low_priority` lowers its CPU
    priority."""
    words = ["nice", "-n", str(LOW_PRIORITY_NICENESS), *words] if low_priority and shutil.which("nice") else words

    def action(out):
        environment = {**os.environ, **variables}
        if out is None:
            return subprocess.run(list(map(str, words)), cwd=cwd, env=environment, stdin=subprocess.DEVNULL).returncode
        done = subprocess.run(list(map(str, words)), cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")
        out.write(done.stdout)
        return done.returncode
    return action


def sequence(*actions):
    """Returns an action that runs actions until one fails."""
    def action(out):
        return next((status for one in actions if (status := one(out))), 0)
    return action
