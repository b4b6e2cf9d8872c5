"""Models in time: the workload that was asked for, its tasks, and the answers about them."""
