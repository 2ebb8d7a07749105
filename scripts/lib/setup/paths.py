"""Paths of the repository and the cache folder."""
import os, pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
CACHE = pathlib.Path(os.environ.get("TANDEM_CACHE") or ROOT / ".cache").resolve()
