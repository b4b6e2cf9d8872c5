"""SoC files and cost files: text with positions to values."""
