"""Steps of the checks: they run one by one or side by side, and a summary lists each with its result and its seconds.
It does not know the checks themselves."""
import io, os, re, shutil, subprocess, sys, threading, time

# Niceness of steps that nothing waits for.
LOW_PRIORITY = 10
# A test that failed, as the `spec` reporter of Node's runner writes it.
FAILED_IN_NODE = re.compile(r"^\s*✖ (.+) \([0-9.]+ms\)$", re.MULTILINE)


class Steps:
    """Runs steps and keeps their results. A failed step does not end the run: `finish` returns the exit status."""

    def __init__(self):
        self.results, self.notes, self.begun = [], [], time.monotonic()
        self.lock = threading.Lock()

    def run(self, name, action):
        """Runs `action(out)` with its output on the screen; true when it returned no exit status but 0."""
        say(f"\n== {name}")
        return self.timed(name, action, None)

    def beside(self, *rows):
        """Runs rows of (name, action) side by side, each row's steps in order; prints the output of each step when it has ended. Returns
        whether all of them passed."""
        return self.start(*rows)()

    def start(self, *rows):
        """Starts rows as `beside` does; returns a function that waits for them and returns whether all of them passed."""
        failed = []

        def work(row):
            for name, action in row:
                kept = io.StringIO()
                passed = self.timed(name, action, kept)
                with self.lock:
                    say(f"\n== {name}{'' if passed else ': FAILED'}\n{kept.getvalue()}".rstrip())
                    failed.extend([] if passed else [name])

        threads = [threading.Thread(target=work, args=(row,)) for row in rows]
        for thread in threads:
            thread.start()

        def wait():
            for thread in threads:
                thread.join()
            return not failed
        return wait

    def timed(self, name, action, out):
        begun = time.monotonic()
        try:
            status = action(out)
        except Exception as error:  # A fault of one step must not hide the results of the others.
            print(f"check: {name}: {type(error).__name__}: {error}", file=out or sys.stderr, flush=True)
            status = 1
        with self.lock:
            self.results.append((name, status in (0, None), time.monotonic() - begun))
        return status in (0, None)

    def with_second_attempt(self, name, action):
        """An action that runs `action` once more where it fails. The summary then lists the tests of Node's runner that failed, else `name`."""
        def attempts(out):
            first = io.StringIO()
            status = action(first)
            print(first.getvalue(), file=out, end="", flush=True)
            if status == 0:
                return status
            print(f"check: {name}: second attempt", file=out, flush=True)
            status = action(out)
            if status == 0:
                for failed in dict.fromkeys(FAILED_IN_NODE.findall(first.getvalue())) or [name]:
                    self.note(f"FLAKY    {failed}: failed once, then passed")
            return status
        return attempts

    def note(self, text):
        """A line for the summary that is neither a success nor a failure."""
        with self.lock:
            self.notes.append(text)

    def finish(self):
        """Prints the summary and returns the exit status of the checks."""
        say("\n== Summary")
        for name, passed, seconds in self.results:
            say(f"{'ok     ' if passed else 'FAILED '} {name} ({seconds:.0f} s)")
        for text in self.notes:
            say(text)
        say(f"{'ok     ' if self.passed() else 'FAILED '} all of it ({time.monotonic() - self.begun:.0f} s)")
        return 0 if self.passed() else 1

    def passed(self):
        return all(passed for _, passed, _ in self.results)


def say(text):
    print(text, flush=True)


def command(*words, cwd=None, low_priority=False, **variables):
    """An action that runs a command; its output goes to the screen, or into the step's own output. With `low_priority` it takes only the
    processor time that other steps leave."""
    words = ["nice", "-n", str(LOW_PRIORITY), *words] if low_priority and shutil.which("nice") else words

    def action(out):
        environment = {**os.environ, **variables}
        if out is None:
            return subprocess.run(list(map(str, words)), cwd=cwd, env=environment, stdin=subprocess.DEVNULL).returncode
        done = subprocess.run(list(map(str, words)), cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")
        out.write(done.stdout)
        return done.returncode
    return action


def in_order(*actions):
    """An action that runs actions until one fails."""
    def action(out):
        return next((status for one in actions if (status := one(out))), 0)
    return action
