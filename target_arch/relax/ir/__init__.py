"""Facts about a Relax graph, and errors in a model."""
