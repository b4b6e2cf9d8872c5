"""The parts of definitions in TE: stages and their schedules, fixed-point steps, requantizers."""
