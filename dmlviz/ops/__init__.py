"""Pairwise distances, masked reductions, exact nearest neighbors and linear projections."""
