"""Several models in one bundle."""
