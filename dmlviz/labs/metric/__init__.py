"""The lab *What is a metric?*: a learned Mahalanobis distance, and four notions of what is the same."""
