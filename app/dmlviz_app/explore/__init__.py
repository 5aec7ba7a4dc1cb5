"""Explore: set up, train, watch, query."""
