"""What must hold between the parts of a description."""
