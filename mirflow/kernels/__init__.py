"""Kernels: arrays in, arrays out."""

from .ragged_ops import keep_freed_memory

keep_freed_memory()
