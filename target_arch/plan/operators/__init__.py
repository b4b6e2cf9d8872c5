"""The table of operator kinds: what an operator of each kind is, for everyone who asks.

`kinds.py` is the table, `facts.py` says which questions it answers. What needs TVM (patterns and TE
definitions) is its other half, `target_arch.relax.kinds`; each half is checked against the other.
"""
