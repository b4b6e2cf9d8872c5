"""The printed form of every value between stages."""
