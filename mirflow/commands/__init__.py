"""The commands of the command line, light to import: what computes is imported when a command runs."""
