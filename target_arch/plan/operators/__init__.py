"""The table of operator kinds: all facts about the operators of each kind.

`kinds.py` is the table, `facts.py` says which questions it answers. Patterns and TE definitions, which
need TVM, are its other half, `target_arch.relax.kinds`; each half is checked against the other.
"""
