"""Kernels: arrays in, arrays out."""
