"""Runs: every run that a person sees, the queue and the limits."""
