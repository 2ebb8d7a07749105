"""Paths of the repository and the cache folder."""
import os, pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
CACHE = pathlib.Path(os.environ.get("TANDEM_CACHE") or ROOT / ".cache").resolve()


def get_cache_variables():
    """The variables that put the caches of npm and Go into the cache folder where the home is read-only."""
    if os.access(os.path.expanduser("~"), os.W_OK):
        return {}
    return {"npm_config_cache": str(CACHE / "home/npm"), "GOCACHE": str(CACHE / "home/go")}
