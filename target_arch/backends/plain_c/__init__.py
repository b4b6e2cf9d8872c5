"""Operators as plain C99: what is taken, what it costs, how it is lowered. Shared by the backends of CPUs."""
