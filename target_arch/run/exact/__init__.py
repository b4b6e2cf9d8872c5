"""The operators of quantized models in exact integer arithmetic, by their definitions: an oracle for kernels.

Nothing here is shared with the code that makes kernels: no multiplier, no definition. `oracle.py` is the
table of contents.
"""
