"""A C library with the calling convention of CMSIS-NN, for the int8 operators that it has."""

from target_arch.backends.cmsis_nn.backend import backend

__all__ = ["backend"]
