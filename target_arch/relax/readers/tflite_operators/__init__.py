"""Our own converters of TFLite operators to Relax, taken before those of TVM's frontend.

`driver.py` walks the operators of a model; `table.py` has the converters by operator.
"""
