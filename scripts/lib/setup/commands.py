"""Runs programs, reports progress, and ends with a message (the step, the location and the remedy) instead of a traceback."""
import concurrent.futures, errno, os, pathlib, re, shutil, signal, subprocess, sys, tempfile, threading, time

from .paths import CACHE

START_TIME = time.monotonic()
DISK_FULL_PATTERN = re.compile(r"No space left on device|ENOSPC|Disk quota exceeded")
ERROR_PATTERN = re.compile(r"\berror\b", re.IGNORECASE)
MAX_SHOWN_ERRORS, MAX_SHOWN_CHARACTERS = 20, 3000
running_processes, running_lock, failure_handlers = set(), threading.Lock(), []
is_ending = threading.Event()


class SetupError(SystemExit):
    """A failure with a message for the user. A script that does not catch it exits with that message."""


def log_progress(text):
    # One write, because threads print at the same time.
    sys.stderr.write(f"setup: {time.monotonic() - START_TIME:4.0f} s  {text}\n")
    sys.stderr.flush()


def fail(text):
    raise SetupError(f"setup: {text}")


def run_command(command, is_killed=True, **options):
    """Runs a program in a separate process group; returns its exit status and output. `is_killed`: whether it ends with this process."""
    with running_lock:
        if is_ending.is_set():
            fail("another step failed")
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                   stdin=subprocess.DEVNULL, start_new_session=True, **options)
        if is_killed:
            running_processes.add(process)
    try:
        output = process.communicate()[0]
    except BaseException:
        if is_killed:
            kill_group(process)
        raise
    finally:
        with running_lock:
            running_processes.discard(process)
    return process.returncode, output


def run(*command, **options):
    try:
        status, output = run_command(command, **options)
    except FileNotFoundError as error:
        fail(f"`{command[0]}` cannot be started: {error.strerror}: {error.filename}")
    if status != 0:
        if DISK_FULL_PATTERN.search(output):
            fail(describe_full_disk())
        fail(f"`{' '.join(map(str, command))}` failed ({status}):\n{summarize(output)}")
    return output


def summarize(output):
    """Returns the lines that contain `error`, which warnings may hide, and the end of the output."""
    end = output[-MAX_SHOWN_CHARACTERS:]
    errors = dict.fromkeys(line.strip() for line in output.splitlines() if ERROR_PATTERN.search(line) and line not in end)
    return "\n".join([*list(errors)[:MAX_SHOWN_ERRORS], end])


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run_in_parallel(*actions):
    """Runs actions in threads and returns their results. Raises the first failure immediately."""
    pool = concurrent.futures.ThreadPoolExecutor(len(actions))
    futures = [pool.submit(action) for action in actions]
    done, _ = concurrent.futures.wait(futures, return_when=concurrent.futures.FIRST_EXCEPTION)
    for future in done:
        future.result()
    return [future.result() for future in futures]


def get_free_megabytes(folder):
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free // 1_000_000


def describe_full_disk():
    folders = dict.fromkeys([CACHE, pathlib.Path(tempfile.gettempdir()), pathlib.Path.home()])
    free = {folder: get_free_megabytes(folder) for folder in folders}
    listed = ", ".join(f"{free[folder]} MB in {folder}" for folder in sorted(free, key=free.get))
    return f"a disk is full; free: {listed}. Make room, or set TANDEM_CACHE to a folder on another disk, and run this again"


def run_guarded(action):
    """Runs `action`. A failure prints a message and exits with status 1."""
    def interrupted(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupted)
    try:
        action()
        return
    except SetupError as error:
        text = str(error).removeprefix("setup: ")
    except KeyboardInterrupt:
        text = "interrupted; run this again: it keeps what is complete"
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            text = describe_full_disk()
        else:
            text = f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}"
    is_ending.set()
    with running_lock:
        for process in running_processes:
            kill_group(process)
    for clean in failure_handlers:
        clean()
    log_progress(text)
    # Do not wait for other threads.
    os._exit(1)
