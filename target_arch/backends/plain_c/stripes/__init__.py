"""Neighbouring operators as one C function that computes a stripe at a time."""
