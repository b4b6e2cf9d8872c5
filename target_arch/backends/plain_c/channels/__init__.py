"""Regions that run some channels at a time."""
