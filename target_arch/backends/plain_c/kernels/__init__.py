"""Operators as calls of the kernels in `runtime_c/kernels`, without TVM: packed constants and C text."""
