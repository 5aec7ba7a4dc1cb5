"""The job queue, the worker pool and the worker process."""
