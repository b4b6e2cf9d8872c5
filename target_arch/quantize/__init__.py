"""Quantize to fit: a float model becomes one whose layers have the precision that a chip has room for.

`search.py` is the way: what a library makes of the model (`library.py` is what is asked of one, in
`onnx_file.py` for ONNX), what each layer alone costs in accuracy (`score.py`), bytes and time (`price.py`),
and the choice by `solver.py`, which is compiled before it counts. `result.py` is what comes of it.
"""
