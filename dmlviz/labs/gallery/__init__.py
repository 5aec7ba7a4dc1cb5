"""The lab *A gallery that grows*: identities are enrolled without training, and queries may be of unknown ones."""
