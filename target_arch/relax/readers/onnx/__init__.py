"""ONNX models, brought to one plain form before TVM sees them.

`normal_form.py` is the table of contents: the transformations, in order. `importer.py` calls `reader.py`.
"""
