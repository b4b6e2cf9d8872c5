"""Constants of TFLite files that are not stored element by element."""
