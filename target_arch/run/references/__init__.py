"""What a model should answer: LiteRT, onnxruntime, PyTorch."""
