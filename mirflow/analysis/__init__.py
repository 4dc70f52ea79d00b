"""Questions to stored scores."""
