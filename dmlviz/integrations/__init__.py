"""Callbacks of other training libraries that record their trainings; each module needs its library."""
