"""Login, logout, and the links of others that a person opens."""
