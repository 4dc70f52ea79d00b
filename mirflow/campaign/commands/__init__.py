"""The commands of campaigns, which enter the command line by the entry points of the package."""
