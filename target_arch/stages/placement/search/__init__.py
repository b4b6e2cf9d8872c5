"""The search for a placement of small makespan: jobs, machines and channels by number."""
