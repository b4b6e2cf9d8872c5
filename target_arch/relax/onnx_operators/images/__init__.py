"""Operators on images: pads, pools, resizes, regions."""
