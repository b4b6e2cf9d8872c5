"""The values that a report shows, and how they are read out of a manifest."""
