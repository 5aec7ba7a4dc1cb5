"""Compare: two runs of one data set side by side."""
