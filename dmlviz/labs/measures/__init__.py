"""One module for each lab: how a trial is done, in a worker process."""
