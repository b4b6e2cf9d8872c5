"""Passes and predicates over TIR."""
