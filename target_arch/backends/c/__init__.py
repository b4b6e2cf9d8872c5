"""Plain C99 for any CPU that has a C compiler, host and DSP alike."""

from target_arch.backends.c.backend import backend

__all__ = ["backend"]
