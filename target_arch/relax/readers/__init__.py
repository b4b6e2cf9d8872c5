"""Model files: ONNX, TFLite and `torch.export`, as Relax."""
