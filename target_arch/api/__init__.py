"""target_arch in Python: from a model file and a chip to a bundle, its run and its verification.

Paths and names may be text or `pathlib.Path`. Every mistake of a caller is a `DiagnosticError`: its
`diagnostics` are values with place, rule, message and hint. Every result prints: `repr` in a line, `str` as
the command line prints it, and as HTML in a notebook. The names can be imported from `target_arch` itself.
"""
