"""Checks of `dmlviz doctor`: requirements of dmlviz on this machine, and remedies for missing ones."""
