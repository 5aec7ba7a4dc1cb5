"""The JSON and bytes that routes and panels send to the browser."""
