"""One planned model as C: header, arenas, constants, kernels, steps."""
