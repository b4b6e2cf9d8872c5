"""Division of operators over instances: what may be divided, the divided model, and the choice."""
