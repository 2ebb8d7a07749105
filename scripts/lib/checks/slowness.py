"""Measures how much slower this machine is than the reference machine, for the time limits of tests (TANDEM_TEST_SLOWNESS)."""
import os, subprocess, sys, time

# A loop of fixed length, and the seconds that it takes on a quiet core of the reference machine.
LOOP_CODE = "n = 0\nfor i in range(6_000_000): n += i & 7"
REFERENCE_SECONDS = 0.45
# Minimum factor: the tests themselves share the cores.
MIN_SLOWNESS = 2
# Maximum factor that the time limits of the runner (.config/nextest.toml) allow.
MAX_SLOWNESS = 4


def measure():
    """A factor from MIN_SLOWNESS to MAX_SLOWNESS: runs one loop on each core, so that other load counts, too."""
    begun = time.monotonic()
    loops = [subprocess.Popen([sys.executable, "-S", "-c", LOOP_CODE]) for _ in range(os.cpu_count() or 1)]
    for loop in loops:
        loop.wait()
    return min(MAX_SLOWNESS, MIN_SLOWNESS * max(1.0, round((time.monotonic() - begun) / REFERENCE_SECONDS, 1)))
