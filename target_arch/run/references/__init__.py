"""References for the outputs of models: LiteRT, onnxruntime, PyTorch."""
