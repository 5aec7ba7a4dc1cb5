"""Sums of losses."""
