"""A results site: pages about stores as text, for a folder on disk and for a server."""
