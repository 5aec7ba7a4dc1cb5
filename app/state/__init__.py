"""What a page shows, and what its URL holds."""
