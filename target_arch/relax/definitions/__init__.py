"""The definitions of operators in TE: those of kinds, and those that a reader names.

`kinds` lists the former; `table.py` has the latter by name, from the ends of the files. A
reader names a definition and gives its constants and attributes as plain numbers; scales and zero points have
become multipliers, shifts and offsets there.
"""
