"""The lab *Terrapattern*: click a tile of a large picture, and see where else it looks like that."""
