"""The keys of a SoC file, what each may hold, and their JSON Schema."""
