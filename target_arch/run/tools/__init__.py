"""Compilers of this machine, and bundles as folders."""
