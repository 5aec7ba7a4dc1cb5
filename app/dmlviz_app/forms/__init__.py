"""The settings and the view that a page holds, their address, and their widgets."""
