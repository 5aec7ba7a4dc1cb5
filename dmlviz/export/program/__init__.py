"""A training written as programs: lists of plain operations on arrays, which a page does without torch."""
