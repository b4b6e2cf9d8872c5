"""Neighbouring operators as one C function that computes a patch of their images at a time."""
