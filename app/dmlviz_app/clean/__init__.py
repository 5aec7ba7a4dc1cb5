"""Clean: what a run finds in its training data, and the decisions about it."""
