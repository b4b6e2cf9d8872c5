"""The table of operator kinds: all facts about the operators of each kind.

`kinds.py` is the table, `facts.py` says which questions it answers. What needs TVM (patterns and TE
definitions) is its other half, `target_arch.relax.kinds`; each half is checked against the other.
"""
