"""A server of results, submissions and graders' pages."""
