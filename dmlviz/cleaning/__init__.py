"""Possible faults in training data, found by a run: suspect labels, near duplicates, leaks, outliers."""
