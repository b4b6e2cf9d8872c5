"""Frames in flight: the steps of a run become a software pipeline, by modulo scheduling."""
