"""Modules of `scripts/release`: facts, build, archive formats, and one module for each family of packages."""
