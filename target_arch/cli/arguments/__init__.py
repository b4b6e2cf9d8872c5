"""Arguments as values."""
