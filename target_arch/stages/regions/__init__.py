"""The choice of regions where memory is short, and a replay that proves each of them right."""
