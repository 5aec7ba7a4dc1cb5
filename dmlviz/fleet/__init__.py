"""Trainings on other machines, over Dask."""
