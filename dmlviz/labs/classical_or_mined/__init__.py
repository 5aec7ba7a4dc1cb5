"""The lab *Classical or mined*: siamese and triplet nets as they were, and with tuples chosen from the batch."""
