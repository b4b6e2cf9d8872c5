"""One function for each command."""
