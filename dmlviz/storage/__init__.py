"""Atomic file writes, the append-only event log, file locks, and default folders."""
