"""How much slower than the reference machine this one is now, for the deadlines of tests (TANDEM_TEST_SLOWNESS)."""
import os, subprocess, sys, time

# A loop of fixed length, and the seconds that it takes on a quiet core of the reference machine.
LOOP = "n = 0\nfor i in range(6_000_000): n += i & 7"
REFERENCE_SECONDS = 0.45
# The tests themselves take the cores from each other.
COMPANY = 2
# Time limits of the runner (.config/nextest.toml) allow for this much.
MAX_SLOWNESS = 4


def measure():
    """A factor from COMPANY to MAX_SLOWNESS: one loop on each core, so that what else runs here counts, too."""
    begun = time.monotonic()
    loops = [subprocess.Popen([sys.executable, "-S", "-c", LOOP]) for _ in range(os.cpu_count() or 1)]
    for loop in loops:
        loop.wait()
    return min(MAX_SLOWNESS, COMPANY * max(1.0, round((time.monotonic() - begun) / REFERENCE_SECONDS, 1)))
