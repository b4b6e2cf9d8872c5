"""The keys of a SoC file, the values of each, and their JSON Schema."""
