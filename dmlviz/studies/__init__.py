"""Studies: the trials of a lab or a sweep, done by worker processes and kept in one folder. Loads no torch."""
