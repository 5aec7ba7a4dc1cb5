"""The lab *Recall at k*: the curve by which search is judged, for pixels, an untrained net and trained ones."""
