"""Buffers that the tests of packing share."""

import csv
from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import strategies as st

from target_arch.plan.memory import Buffer
from target_arch.stages.memory.packing.fast import Packing

SHARED = Path(__file__).parents[5] / "shared" / "memory_plans"
CAPACITY = 1_048_576


def buffer(number: int, size: int, first: int, last: int, alignment: int = 1) -> Buffer:
    return Buffer(
        name=f"b{number}",
        kind="activation",
        memory="m",
        bytes=size,
        alignment=alignment,
        first=first,
        last=last,
    )


def buffers(
    most: int, sizes: int = 40, steps: int = 12, alignments: Sequence[int] = (1, 4, 16)
) -> st.SearchStrategy[list[Buffer]]:
    """One to `most` buffers."""
    rows = st.lists(
        st.tuples(
            st.integers(1, sizes),
            st.integers(0, steps),
            st.integers(0, steps // 2),
            st.sampled_from(alignments),
        ),
        min_size=1,
        max_size=most,
    )
    return rows.map(
        lambda found: [
            buffer(number, size, first, first + length, alignment)
            for number, (size, first, length, alignment) in enumerate(found)
        ]
    )


def shared(name: str) -> list[Buffer]:
    """An instance of the minimalloc paper."""
    path = SHARED / f"{name}.{CAPACITY}.csv"
    if not path.exists():
        pytest.skip(f"needs {path.name} in ../shared/memory_plans")
    with path.open() as file:
        return [
            Buffer(
                name=row["id"],
                kind="activation",
                memory="m",
                bytes=int(row["size"]),
                alignment=1,
                first=int(row["lower"]),
                last=int(row["upper"]) - 1,
            )
            for row in csv.DictReader(file)
        ]


def is_valid(rows: Sequence[Buffer], offsets: Mapping[str, int]) -> bool:
    """Every buffer has an aligned offset, and no two live at once touch."""

    def apart(one: Buffer, other: Buffer) -> bool:
        mine, theirs = offsets[one.name], offsets[other.name]
        return mine + one.bytes <= theirs or theirs + other.bytes <= mine

    pairs = ((one, other) for number, one in enumerate(rows) for other in rows[:number])
    aligned = all(offsets[row.name] >= 0 and offsets[row.name] % row.alignment == 0 for row in rows)
    return (
        aligned
        and len(offsets) == len(rows)
        and all(apart(one, other) for one, other in pairs if one.overlaps(other))
    )


def optimum(rows: Sequence[Buffer]) -> int:
    """The lowest peak, by first fit in every order: that of a best plan's offsets is among them."""
    packing = Packing(rows)
    return min(packing.first_fit(order)[0] for order in permutations(range(len(rows))))
