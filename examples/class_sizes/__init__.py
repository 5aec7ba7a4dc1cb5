"""An example of a feature: how many test images of each class a run has. docs/EXTENDING.md walks through it."""
