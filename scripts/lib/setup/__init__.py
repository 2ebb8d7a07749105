"""Modules of `scripts/setup`, one for each kind of tool."""
