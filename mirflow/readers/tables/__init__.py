"""Tables: files that hold the annotations of many tracks."""
