"""Who can touch which memory, and which copy paths lead from one to another."""
