"""Services of the server: sessions, uploads, the live event stream."""
