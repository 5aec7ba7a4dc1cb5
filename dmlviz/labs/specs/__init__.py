"""One module for each lab: what it asks, its trials and its figures. Loads no torch."""
