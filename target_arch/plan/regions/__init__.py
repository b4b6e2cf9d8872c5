"""Operators that run as one call, a stripe at a time, so that tensors between them never exist whole."""
