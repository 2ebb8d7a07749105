"""The lock of the cache, which one set-up holds at a time. `cache` has the folders that it protects."""
import contextlib, fcntl, os, pathlib, re, signal, time

from .commands import fail, log_progress
from .paths import CACHE

# A set-up of a fresh machine takes six minutes; a slow network needs several times as long.
MAX_WAIT_SECONDS = 45 * 60
# Builds of a set-up that was killed end within a minute unless they hang.
MAX_ORPHAN_SECONDS = 120
POLL_SECONDS = 0.5
FLOCK_PATTERN = re.compile(r"^lock:.*\bFLOCK\b", re.MULTILINE)
# Builds inherit these handles, so that the lock is held until the builds have ended.
lock_handles = []


@contextlib.contextmanager
def lock_setup():
    """Locks the cache. Waits for another set-up, and ends builds that hang after their set-up was killed."""
    path = CACHE / "running.lock"
    # "a" keeps the number of the process that holds the lock.
    with path.open("a+") as file:
        lock_handles.append(file.fileno())
        if not try_lock(file):
            wait_for_lock(file, path)
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def try_lock(file):
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_for_lock(file, path):
    log_progress(f"waiting for another set-up of {CACHE}")
    start, orphans_since = time.monotonic(), None
    while not try_lock(file):
        now = time.monotonic()
        holders = find_holders(path)
        if not holders or read_owner(file) in holders:
            orphans_since = None
        elif orphans_since is None:
            orphans_since = now
        elif now - orphans_since > MAX_ORPHAN_SECONDS:
            log_progress(f"ending processes {holders}, builds that hang since their set-up was killed")
            kill(holders)
        if now - start > MAX_WAIT_SECONDS:
            owner = f" (processes {holders})" if holders else ""
            fail(f"another set-up{owner} has held {path} for {MAX_WAIT_SECONDS // 60} minutes. "
                 "End it, or set TANDEM_CACHE to another folder, and run this again")
        time.sleep(POLL_SECONDS)


def read_owner(file):
    file.seek(0)
    text = file.read().strip()
    return int(text) if text.isdigit() else None


def find_holders(path):
    """Returns the numbers of the processes that hold the lock of `path`: its set-up and the builds that inherited it. Empty without /proc."""
    wanted, holders = str(path.resolve()), []
    for handles in pathlib.Path("/proc").glob("[0-9]*/fd"):
        # A process may end at any time, and belong to another user.
        with contextlib.suppress(OSError):
            if any(holds_lock(handle, wanted) for handle in handles.iterdir()):
                holders.append(int(handles.parent.name))
    return sorted(holders)


def holds_lock(handle, wanted):
    try:
        if os.readlink(handle) != wanted:
            return False
        # A set-up that waits has the file open too, but without a lock.
        return bool(FLOCK_PATTERN.search((handle.parent.parent / "fdinfo" / handle.name).read_text()))
    except OSError:
        return False


def kill(processes):
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)
