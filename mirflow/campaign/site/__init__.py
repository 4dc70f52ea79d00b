"""Results sites: pages about stores, for a folder on disk and for a server."""
