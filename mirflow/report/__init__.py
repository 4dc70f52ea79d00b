"""Tables for people and programs."""
