"""Form controls, and the props of the front end's components."""
