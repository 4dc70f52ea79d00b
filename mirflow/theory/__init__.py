"""Music theory: the grammar of chord and key labels."""
