"""What definitions in TE are written with: stages and their schedules, fixed-point steps, requantizers."""
