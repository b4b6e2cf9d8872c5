"""Programs around a model: runner and self-test on a host, on a bare-metal machine, and timers of kernels."""
