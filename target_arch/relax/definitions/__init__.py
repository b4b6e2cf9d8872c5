"""Definitions of operators that have a name instead of a kind of their own (kind `defined`).

A reader names the definition and gives its constants and attributes as plain numbers; scales and zero points
have become multipliers, shifts and offsets there.
"""
