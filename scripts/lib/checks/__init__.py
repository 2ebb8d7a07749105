"""The parts of ./check."""
