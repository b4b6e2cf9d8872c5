"""ONNX operators that TVM's frontend lacks or computes otherwise, as Relax, TE and loops in TIR."""
