"""The lab *Do two patches match?*: nets that compare patches, on scenes of a kind that they have never seen."""
