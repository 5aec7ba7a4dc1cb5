"""What every page with a run asks of it: events, frames, images, neighbors, scores, columns, queries."""
