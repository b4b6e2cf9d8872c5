"""The order of lowering, the budget of each partition, and the attempts to fit partitions that do not."""
