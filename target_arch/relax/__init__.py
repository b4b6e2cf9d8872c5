"""The door to TVM: importers, composites, layout, and lowering to C text.

Tests: `tests/relax`.
"""
