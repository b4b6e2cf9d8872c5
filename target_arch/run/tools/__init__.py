"""Compilers and programs of this machine."""
