"""The rules of the checker, a family of them in each file."""
