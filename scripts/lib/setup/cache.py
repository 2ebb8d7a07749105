"""The cache folder: installs pinned folders atomically and verifies hashes. Independent of their contents."""
import contextlib, fcntl, hashlib, json, os, pathlib, re, shutil, tempfile, threading, time

from .commands import failure_handlers, fail, log_progress
from .paths import CACHE

# Folders of earlier pins stay this long for other branches and checkouts that share the cache.
UNUSED_DAYS = 14
HASH_DIGITS = 12
locks, failures, used, scratches = {}, {}, set(), set()


def verify_hash(path, wanted, algorithm="sha256"):
    found = hashlib.new(algorithm, path.read_bytes()).hexdigest()
    if found != wanted:
        fail(f"{path.name} has the hash {found}, not {wanted}; nothing was installed from it")
    return path


def install_pinned(label, pins, make):
    """Creates a folder of the cache unless it exists. Its name contains the hash of `pins` (any JSON value): versions, hashes, lists."""
    digest = hashlib.sha256(json.dumps(pins, sort_keys=True).encode()).hexdigest()
    return install(f"{label}-{digest[:HASH_DIGITS]}", make)


def install(name, make):
    """Creates a folder of the cache atomically. Two threads that need the same folder create it once."""
    target = CACHE / name
    with locks.setdefault(name, threading.Lock()):
        if name in failures:
            raise failures[name]
        if not target.exists():
            try:
                make_in_scratch(target, make)
            except BaseException as error:
                failures[name] = error
                raise
        used.add(name)
        # The time of the last use decides what `remove_unused` removes.
        with contextlib.suppress(OSError):
            os.utime(target)
    return target


def make_in_scratch(target, make):
    with scratch_folder(target.name) as scratch:
        made = make(scratch)
        try:
            made.rename(target)
        except OSError:
            # Another process created it at the same time.
            if not target.exists():
                raise


@contextlib.contextmanager
def scratch_folder(name):
    """Creates a folder and removes it afterwards. Its lock keeps other processes from removing it (`remove_leftovers`)."""
    with tempfile.TemporaryDirectory(dir=CACHE, prefix=f".{name}-") as scratch:
        scratches.add(scratch)
        handle = os.open(scratch, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield pathlib.Path(scratch)
        finally:
            os.close(handle)
            scratches.discard(scratch)


def remove_own_scratch_folders():
    for scratch in list(scratches):
        shutil.rmtree(scratch, ignore_errors=True)


failure_handlers.append(remove_own_scratch_folders)


def remove_leftovers():
    """Removes the scratch folders of processes that were killed."""
    for leftover in CACHE.glob(".*-*"):
        with contextlib.suppress(OSError):
            handle = os.open(leftover, os.O_RDONLY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(leftover, ignore_errors=True)
            finally:
                os.close(handle)


def remove_unused():
    """Removes folders that were not used for UNUSED_DAYS days and differ only in their hash from one in use."""
    oldest = time.time() - UNUSED_DAYS * 86400
    hashed = re.compile(rf"(.+)-[0-9a-f]{{{HASH_DIGITS}}}")
    labels = {match[1] for name in used if (match := hashed.fullmatch(name))}
    for folder in CACHE.iterdir():
        match = hashed.fullmatch(folder.name)
        if match and match[1] in labels and folder.name not in used and folder.stat().st_mtime < oldest:
            log_progress(f"removing {folder.name}, which nothing has used for {UNUSED_DAYS} days")
            shutil.rmtree(folder, ignore_errors=True)
