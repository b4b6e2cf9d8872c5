"""Applies TIR patterns: each nest of loops around one block is offered to them, and replaced if one matches.

Functions come here with opaque blocks (`hook_stages.compact`), so the elements that a block reads and writes
follow from the loops around it. The statement of the first pattern that matches replaces the nest, its block
included.

Tests: `tests/relax/lower/test_hook_stages.py`.
"""

from typing import Any

from tvm import s_tir, tirx

from target_arch.backend.hooks import Nest, TirPattern
from target_arch.backend.lowering import LoweringRequest


def rewrite_nests(function: Any, patterns: tuple[TirPattern, ...], request: LoweringRequest) -> Any:
    """The function with every nest replaced that a pattern matches."""
    if not patterns:
        return function
    return function.with_body(_Rewriter(patterns, request).statement(function.body))


def nest_of(statement: Any) -> Nest | None:
    """The statement as a nest: loops in loops around one block; None where it is anything else."""
    loops = []
    while isinstance(statement, tirx.For):
        loops.append(statement)
        statement = statement.body
    if not isinstance(statement, s_tir.SBlockRealize):
        return None
    return Nest(loops=tuple(loops), block=statement.block, predicate=statement.predicate)


class _Rewriter:
    """Goes down from the outermost statement, so that a pattern sees a nest whole before parts of it."""

    def __init__(self, patterns: tuple[TirPattern, ...], request: LoweringRequest) -> None:
        self._patterns, self._request = patterns, request

    def statement(self, statement: Any) -> Any:
        nest = nest_of(statement)
        if nest is not None:
            for pattern in self._patterns:
                found = pattern.rewrite(nest, self._request)
                if found is not None:
                    return found
        if isinstance(statement, tirx.SeqStmt):
            return tirx.SeqStmt([self.statement(each) for each in statement.seq])
        if isinstance(statement, tirx.For):
            return with_body(statement, self.statement(statement.body))
        if isinstance(statement, s_tir.SBlockRealize):
            return self._block(statement)
        return statement

    def _block(self, realize: Any) -> Any:
        block = realize.block
        body = self.statement(block.body)
        if body.same_as(block.body):
            return realize
        changed = s_tir.SBlock(
            block.iter_vars,
            block.reads,
            block.writes,
            block.name_hint,
            body,
            block.init,
            block.alloc_buffers,
            block.match_buffers,
            block.annotations,
        )
        return s_tir.SBlockRealize(realize.iter_values, realize.predicate, changed)


def with_body(loop: Any, body: Any) -> Any:
    """The loop around another body."""
    return tirx.For(
        loop.loop_var,
        loop.min,
        loop.extent,
        loop.kind,
        body,
        loop.thread_binding,
        loop.annotations,
        loop.step,
    )
