"""Relax and TIR, seen: walks over a graph, and what is wrong with it."""
