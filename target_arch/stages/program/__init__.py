"""Kernels joined into one program: homes of tensors, copies, aliases, hazards."""
