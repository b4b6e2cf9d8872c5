"""Functions of C that are written as loops over statements, not as definitions of elements."""
