"""The HTTP routes and the middleware before them."""
