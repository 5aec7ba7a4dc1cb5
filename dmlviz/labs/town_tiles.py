"""How a picture of one's own becomes tiles, in the lab *terrapattern*; the page and the worker both ask."""

CELL = 28  # pixels: a side of a tile
LEAST_COLUMNS = 12
MOST_COLUMNS = 56
