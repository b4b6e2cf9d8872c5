"""Kernels and stand-ins joined into a program: their copies, tiles and local buffers."""
