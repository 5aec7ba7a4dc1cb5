"""The run that a page shows: its map, progress and curves."""
