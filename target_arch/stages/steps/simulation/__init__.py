"""Simulated time: the clock of resources, the times of steps, the replay of a step order."""
