"""The lab *Follow it*: a learned similarity follows an object that it has never seen."""
