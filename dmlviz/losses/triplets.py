"""Losses on triplets."""
