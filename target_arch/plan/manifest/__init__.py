"""The manifest of a bundle: the classes say which keys it has, of which types, and what they mean."""
