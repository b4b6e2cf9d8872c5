"""ONNX models, brought to one plain form before TVM sees them.

`normal_form.py` is the table of contents: what is done, in which order. `importer.py` calls `reader.py`.
"""
