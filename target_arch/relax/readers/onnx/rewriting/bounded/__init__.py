"""Results whose size depends on values, as arrays of their largest size with a count.

`marks.py` has the value, `walk.py` is the way: sources (`sources.py`) become operators of ours, rules
(`rules.py`, `extents.py`, `joining.py`) say which axis of what an operator writes has the count of which axis
that it reads, `sizes.py` which extents are counts. `results.py` ends it: what is behind the count is zero in
results, and counts are results, too.
"""
