"""What may be wrong with training data, found by a run: suspect labels, near duplicates, leaks, outliers."""
