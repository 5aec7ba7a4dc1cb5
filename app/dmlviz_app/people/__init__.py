"""People, their rights and possessions, and the classes that they are in."""
