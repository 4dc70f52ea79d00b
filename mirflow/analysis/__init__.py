"""Questions to a result store: aggregates over tracks, and the ``.mirflow`` accessor that asks them."""
