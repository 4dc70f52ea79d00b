"""Web server for results, submissions and grading."""
