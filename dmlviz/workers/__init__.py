"""The programs that work for the server, each a process of its own."""
