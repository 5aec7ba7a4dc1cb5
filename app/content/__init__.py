"""Lessons and the index of the page Learn."""
