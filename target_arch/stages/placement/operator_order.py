"""The order in which operators run: a topological order that keeps the peak of live activation bytes low.

An exact search over the sets of operators already run (the fewest live bytes at the peak first) while it is
affordable, then a greedy order; the model's own order is kept unless one of these is strictly better.
"""

import heapq
from collections.abc import Sequence

from target_arch.plan.model import Model, Operator

EXACT = 300
"""The most operators for the exact search."""
STATES = 20_000
"""How many sets of executed operators the exact search may visit before it gives up."""


def execution_order(model: Model, states: int = STATES) -> tuple[Operator, ...]:
    """The operators in execution order. Its peak of live bytes is never above that of the model's own
    order.
    """
    problem = _LiveBytes(model)
    original = tuple(range(len(model.operators)))
    best, peak = original, problem.peak(original)
    if problem.is_chain():
        return model.operators
    greedy = problem.greedy()
    if problem.peak(greedy) < peak:
        best, peak = greedy, problem.peak(greedy)
    exact = problem.exact(states, peak)
    if exact is not None and problem.peak(exact) < peak:
        best = exact
    return tuple(model.operators[index] for index in best)


def peaks(model: Model, *orders: Sequence[Operator]) -> list[int]:
    """The largest sum of live activation bytes of each order."""
    problem = _LiveBytes(model)
    return [problem.peak([model.numbers[operator.id] for operator in order]) for order in orders]


class _LiveBytes:
    """Live activation bytes of a model, operators and tensors by number."""

    def __init__(self, model: Model) -> None:
        self.count = len(model.operators)
        names = dict.fromkeys((*model.given, *(op.output for op in model.operators)))
        numbers = {name: number for number, name in enumerate(names)}
        self._size = [model.tensors[name].bytes for name in names]
        self._inputs = [
            tuple(dict.fromkeys([numbers[name] for name in op.inputs if name in numbers]))
            for op in model.operators
        ]
        self._output = [numbers[op.output] for op in model.operators]
        produced = {output: index for index, output in enumerate(self._output)}
        self._makers = [tuple([produced[n] for n in read if n in produced]) for read in self._inputs]
        self._users: list[list[int]] = [[] for _ in names]
        for index, read in enumerate(self._inputs):
            for tensor in read:
                self._users[tensor].append(index)
        self._kept = frozenset(numbers[name] for name in model.kept if name in numbers)
        self._needed = [len(users) + (n in self._kept) for n, users in enumerate(self._users)]
        """The readers of each tensor, the caller included."""
        self._start = sum(model.tensors[name].bytes for name in model.given)

    def is_chain(self) -> bool:
        """True where no other order is possible."""
        return all(index - 1 in makers for index, makers in enumerate(self._makers) if index)

    def peak(self, order: Sequence[int]) -> int:
        """The largest sum of live bytes while the operators run in that order."""
        left, size = self._needed.copy(), self._size
        live = peak = self._start
        for index in order:
            peak = max(peak, live + size[self._output[index]])
            live += self._change(index, left)
            self._ran(index, left)
        return peak

    def greedy(self) -> tuple[int, ...]:
        """A greedy order: next is always the ready operator that leaves the fewest bytes live.

        These bytes change only when another reader of the operator's inputs has run, so a heap is enough if
        its entries are checked again when they come up.
        """
        order: list[int] = []
        left = self._needed.copy()
        missing = [len(makers) for makers in self._makers]
        heap = [
            (self._change(i, left), self._size[self._output[i]], i)
            for i in range(self.count)
            if not missing[i]
        ]
        heapq.heapify(heap)
        done = bytearray(self.count)
        while heap:
            change, _, index = heapq.heappop(heap)
            if done[index] or change != self._change(index, left):
                continue
            done[index] = 1
            order.append(index)
            self._ran(index, left)
            for tensor in self._inputs[index]:
                if left[tensor] == 1 and tensor not in self._kept:
                    last = next(user for user in self._users[tensor] if not done[user])
                    if not missing[last]:
                        heapq.heappush(heap, (self._change(last, left), self._size[self._output[last]], last))
            for user in self._users[self._output[index]]:
                missing[user] -= 1
                if not missing[user]:
                    heapq.heappush(heap, (self._change(user, left), self._size[self._output[user]], user))
        return tuple(order)

    def exact(self, states: int, limit: int) -> tuple[int, ...] | None:
        """An order of least peak, or None where `states` do not suffice or no order stays below `limit`.

        Sets of operators are bits; where there are many operators, the search would only spend its states.
        """
        if self.count > EXACT:
            return None
        everything = (1 << self.count) - 1
        self._before = [sum(1 << maker for maker in makers) for makers in self._makers]
        self._readers = [sum(1 << user for user in users) for users in self._users]
        came: dict[int, tuple[int, int]] = {0: (-1, 0)}
        heap = [(self._start, 0, 0, self._start)]
        settled: set[int] = set()
        while heap and len(settled) < states:
            peak, _, done, live = heapq.heappop(heap)
            if done in settled:
                continue
            if done == everything:
                return self._path(came)
            settled.add(done)
            for index in self._ready(done):
                at, after = self._run(index, done, live)
                then, worst = done | 1 << index, max(peak, at)
                if worst < limit and then not in settled and (then not in came or worst < came[then][1]):
                    came[then] = (index, worst)
                    heapq.heappush(heap, (worst, -then.bit_count(), then, after))
        return None

    def _change(self, index: int, left: Sequence[int]) -> int:
        """By how much the live bytes grow when the operator has run; `left` still need each tensor before."""
        grown = self._size[self._output[index]] if left[self._output[index]] else 0
        for tensor in self._inputs[index]:
            if left[tensor] == 1:
                grown -= self._size[tensor]
        return grown

    def _ran(self, index: int, left: list[int]) -> None:
        for tensor in self._inputs[index]:
            left[tensor] -= 1

    def _ready(self, done: int) -> list[int]:
        return [i for i in range(self.count) if not done >> i & 1 and self._before[i] & ~done == 0]

    def _run(self, index: int, done: int, live: int) -> tuple[int, int]:
        """Live bytes while an operator runs and after it."""
        at = live + self._size[self._output[index]]
        after = done | 1 << index
        gone = [
            n
            for n in (*self._inputs[index], self._output[index])
            if n not in self._kept and not self._readers[n] & ~after
        ]
        return at, at - sum(self._size[n] for n in gone)

    def _path(self, came: dict[int, tuple[int, int]]) -> tuple[int, ...]:
        order: list[int] = []
        done = (1 << self.count) - 1
        while done:
            index = came[done][0]
            order.append(index)
            done &= ~(1 << index)
        return tuple(reversed(order))
