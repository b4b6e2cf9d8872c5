"""Operators as plain C99: supported operators, their costs and their lowering. Shared by the backends of
CPUs.
"""
