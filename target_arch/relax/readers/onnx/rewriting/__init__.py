"""ONNX models rewritten to their normal form, a kind of change in each file."""
