"""Operators that run as one call, some lines of each tensor at a time, so that tensors between them never
exist whole.
"""
