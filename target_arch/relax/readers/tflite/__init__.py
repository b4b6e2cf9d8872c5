"""TFLite models. `importer.py` calls `reader.py`; `tflite_operators` has the converters."""
