"""The definitions of operators in TE: those of kinds, and those that a reader names (kind `defined`).

`kinds` lists the former; `table.py` has the latter by name, each in a `DEFINITIONS` at the end of its file. A
reader names a definition and gives its constants and attributes as plain numbers; scales and zero points have
become multipliers, shifts and offsets there.
"""
