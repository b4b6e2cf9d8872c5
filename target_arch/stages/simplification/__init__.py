"""A model becomes a smaller one with the same results: what is known before a run is not computed in it."""
