"""Mutation testing: does a test notice when a line is wrong?

A *mutant* is the program with one small fault: `<=` for `<`, a constant off by one, a statement left out. It
is *killed* where a test fails, and *survives* where all pass. `python -m conformance.mutants` plants every
fault in the files of some rooms (`rooms`), one after the other, and fails for a survivor that
`explained.toml` does not explain, and for an explanation of what is no survivor.

An engine of our own, as neither of the two usual ones does what is needed here. `cosmic-ray` (8.7) writes
the fault into the source file and starts a test command for each: an interpreter and the imports of this
project take longer than the tests. `mutmut` (3.8) forks, but on a copy of the tree, leaves no statement out,
and numbers the mutants of a function in one row, so that an explanation beside it would soon be of another
mutant. Here one process imports and collects once; each mutant is a fork of it in which one function has
other code, and runs only the tests that reach the line, the fastest first.

Only functions and methods change. Statements of a module or a class body ran before the fork.
"""
