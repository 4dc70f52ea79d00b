"""Commands of campaigns, registered by entry points of the package."""
