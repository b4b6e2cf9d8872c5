"""The packages of `examples/` that `new-backend` can start from."""

BACKEND_STARTS = {"relu": "my_npu", "conv2d": "my_conv"}
"""The folder of every `--start`; the first is the default."""
