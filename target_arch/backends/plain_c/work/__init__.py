"""The work of kernels and definitions in C, and its price on each instruction set."""
