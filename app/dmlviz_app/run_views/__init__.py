"""Views of a run for several features: events, frames, images, neighbors, scores, maps."""
