"""Pages for graders, and for the organisers of grading rounds."""
