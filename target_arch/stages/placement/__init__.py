"""The instance of every operator, its cost there, and the reason."""
