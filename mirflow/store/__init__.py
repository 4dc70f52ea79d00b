"""The result store and packs: the only place that knows zarr."""
