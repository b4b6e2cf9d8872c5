"""C text: lines and indents, literals, names."""
