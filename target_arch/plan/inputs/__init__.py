"""The inputs of a model: shapes that are asked for."""
