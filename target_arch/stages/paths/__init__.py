"""The memories that each instance can touch, and the copy paths between memories."""
