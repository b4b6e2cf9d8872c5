"""Which inputs of a model are indices, and how high they may be."""
