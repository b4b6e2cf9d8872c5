"""What runs where, what it costs there, and why."""
