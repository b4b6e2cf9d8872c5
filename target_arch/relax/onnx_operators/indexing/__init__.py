"""Operators whose work is where elements go: gathers, scatters, running sums, the largest elements."""
