"""Neighbouring operators as one C function that computes some lines of each tensor in turn: rows, columns of
images of one row, or channels; whole ones, or those of a patch.
"""
