"""Form controls, components, and the address of a page."""
