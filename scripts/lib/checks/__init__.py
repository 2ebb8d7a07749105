"""Modules of ./check."""
