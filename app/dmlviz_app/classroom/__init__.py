"""A class: its board, its students' pages, what they hand in."""
