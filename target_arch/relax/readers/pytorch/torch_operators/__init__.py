"""Our converters of PyTorch's operators; each file has a table by their names."""
