"""Training: loop, batch sampling, events, diagnostics, recorded batches."""
