"""Subprograms that run again until a condition that they compute says otherwise, as one function."""
