"""From the operators of a partition to its kernel."""
