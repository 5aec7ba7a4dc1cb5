"""The lab *Reality check*: the competing losses, the search of their settings, the claims from the results."""
