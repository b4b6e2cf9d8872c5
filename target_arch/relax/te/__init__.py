"""Operators defined in TE, with the arithmetic of the format the model came from."""
