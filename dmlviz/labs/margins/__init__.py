"""The lab *The margin strip*: what a margin on the angle does to eight classes in the plane."""
