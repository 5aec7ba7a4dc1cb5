"""The training loop and what belongs to it: sampling, events, diagnostics, recorded batches."""
