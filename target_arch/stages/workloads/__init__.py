"""Workloads: worst times of tasks, response-time analysis, simulation, tables of times."""
