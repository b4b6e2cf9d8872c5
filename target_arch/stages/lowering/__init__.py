"""The order of lowering, the budget of each partition, and what is done about what does not fit."""
