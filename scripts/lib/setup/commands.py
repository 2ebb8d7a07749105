"""How set-up runs programs, reports what it does, and fails: with the step, the place and the remedy, without a traceback."""
import concurrent.futures, errno, os, pathlib, re, shutil, signal, subprocess, sys, tempfile, threading, time

from .places import CACHE

BEGUN = time.monotonic()
FULL = re.compile(r"No space left on device|ENOSPC|Disk quota exceeded")
ERROR = re.compile(r"\berror\b", re.IGNORECASE)
SHOWN_ERRORS, SHOWN_CHARACTERS = 20, 3000
running, running_lock, at_failure = set(), threading.Lock(), []
ending = threading.Event()


class Failed(SystemExit):
    """A failure with a message for the user. A script that does not catch it ends with that message."""


def say(text):
    # One write, because threads print at the same time.
    sys.stderr.write(f"setup: {time.monotonic() - BEGUN:4.0f} s  {text}\n")
    sys.stderr.flush()


def failed(text):
    raise Failed(f"setup: {text}")


def start(command, **options):
    """Runs a program in a process group of its own; returns its exit status and output."""
    with running_lock:
        if ending.is_set():
            failed("another step failed")
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                   stdin=subprocess.DEVNULL, start_new_session=True, **options)
        running.add(process)
    try:
        output = process.communicate()[0]
    except BaseException:
        end(process)
        raise
    finally:
        with running_lock:
            running.discard(process)
    return process.returncode, output


def run(*command, **options):
    try:
        status, output = start(command, **options)
    except FileNotFoundError as error:
        failed(f"`{command[0]}` cannot be started: {error.strerror}: {error.filename}")
    if status != 0:
        if FULL.search(output):
            failed(disk_is_full())
        failed(f"`{' '.join(map(str, command))}` failed ({status}):\n{summary(output)}")
    return output


def summary(output):
    """Lines that say `error`, which warnings would hide, and the end."""
    end = output[-SHOWN_CHARACTERS:]
    errors = dict.fromkeys(line.strip() for line in output.splitlines() if ERROR.search(line) and line not in end)
    return "\n".join([*list(errors)[:SHOWN_ERRORS], end])


def end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def side_by_side(*actions):
    """Runs actions in threads and returns their results. The first failure is raised at once."""
    pool = concurrent.futures.ThreadPoolExecutor(len(actions))
    futures = [pool.submit(action) for action in actions]
    done, _ = concurrent.futures.wait(futures, return_when=concurrent.futures.FIRST_EXCEPTION)
    for future in done:
        future.result()
    return [future.result() for future in futures]


def megabytes_free(folder):
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free // 1_000_000


def disk_is_full():
    folders = dict.fromkeys([CACHE, pathlib.Path(tempfile.gettempdir()), pathlib.Path.home()])
    free = {folder: megabytes_free(folder) for folder in folders}
    listed = ", ".join(f"{free[folder]} MB in {folder}" for folder in sorted(free, key=free.get))
    return f"a disk is full; free: {listed}. Make room, or set TANDEM_CACHE to a folder on another disk, and run this again"


def guarded(action):
    """Runs `action`; a failure becomes a message and the exit status 1."""
    def interrupted(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupted)
    try:
        action()
        return
    except Failed as error:
        text = str(error).removeprefix("setup: ")
    except KeyboardInterrupt:
        text = "interrupted; run this again: it keeps what is complete"
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            text = disk_is_full()
        else:
            text = f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}"
    ending.set()
    with running_lock:
        for process in running:
            end(process)
    for clean in at_failure:
        clean()
    say(text)
    # Threads that wait for something would delay the end.
    os._exit(1)
