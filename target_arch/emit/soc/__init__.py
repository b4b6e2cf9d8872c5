"""A SoC as C: the header that compiler and runtime share, and its tables."""
