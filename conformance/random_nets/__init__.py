"""Random small models on random chips: compiled, built for the host port, run, and compared with onnxruntime.

Every model has a number, and the same number is the same model on the same chip. Models of one group share a
chip and a bundle, so that the C runtime is compiled once for all of them.
"""
