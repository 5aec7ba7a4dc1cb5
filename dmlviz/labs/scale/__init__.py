"""The lab *More data, more people*: cross-entropy and metric learning as the training data grow."""
