"""Clean: a run's findings in its training data, and the decisions about them."""
