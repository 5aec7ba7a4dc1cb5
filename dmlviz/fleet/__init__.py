"""Trainings on other machines. What a machine does and says is the same over Dask and over a shared folder."""
