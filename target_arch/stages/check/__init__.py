"""The checker: examines steps and memory plan again, independently of the planner."""
