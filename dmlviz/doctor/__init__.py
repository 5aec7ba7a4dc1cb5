"""What `dmlviz doctor` looks at: whether this machine has what dmlviz needs, and what to do where it has not."""
