"""Atomic files, the append-only event log, the file lock, and the default folders."""
