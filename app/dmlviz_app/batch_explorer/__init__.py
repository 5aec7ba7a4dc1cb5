"""Batch explorer: the terms, distances and gradients of one batch as the loss sees them."""
