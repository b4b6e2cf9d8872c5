"""Our converters of TFLite operators to Relax.

`driver.py` walks the operators of a model; `table.py` has the converters by operator.
"""
