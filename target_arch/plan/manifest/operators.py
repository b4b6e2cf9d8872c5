"""Operators and partitions in a manifest, with every place that an operator could have."""

from typing import Annotated

from attrs import frozen


@frozen(kw_only=True)
class CopyEntry:
    """A copy that a place would need."""

    what: Annotated[str, "the copy in words"]
    seconds: float


@frozen(kw_only=True)
class CostEntry:
    """The cost of an operator in one place."""

    compute: Annotated[float, "seconds"]
    copies: Annotated[tuple[CopyEntry, ...], "each `what` and `seconds`"]
    load: Annotated[float, "seconds, once and beside the rest"]
    measured: Annotated[bool, "whether it was measured"]
    energy: Annotated[float | None, "joules; null where not measured"]


@frozen(kw_only=True)
class CandidateEntry:
    """An instance that was considered for an operator."""

    instance: str
    cost: Annotated[
        CostEntry | None,
        "null if it cannot run there; else `compute` in seconds, `copies` (each `what` and `seconds`), "
        "`load` in seconds, once and beside the rest, `measured`, and `energy` in joules or null",
    ]
    refusal: Annotated[str | None, "why it cannot run there, else null"]
    change: Annotated[str | None, "what would move it there, else null"]

    @property
    def total(self) -> float | None:
        """Seconds of computing and copying together; None where it was refused."""
        return (
            None if self.cost is None else self.cost.compute + sum(each.seconds for each in self.cost.copies)
        )


@frozen(kw_only=True)
class SliceEntry:
    """The places of an operator's result that a slice of it computes."""

    operator: Annotated[str, "the operator of the model's file"]
    axis: Annotated[int, "the dimension along which it is divided"]
    start: Annotated[int, "the first place"]
    stop: Annotated[int, "the place behind the last one"]


@frozen(kw_only=True)
class OperatorEntry:
    """An operator of a model, and where it could be."""

    id: Annotated[str, "begins with the operator's [kind](operators.md)"]
    kind: str
    location: Annotated[str, "its name in the model file; may be empty"]
    inputs: Annotated[tuple[str, ...], "the tensors it reads, without constants"]
    output: Annotated[str, "the tensor it writes"]
    shape: Annotated[tuple[int, ...], "of `output`"]
    dtype: Annotated[str, "of `output`"]
    macs: Annotated[int, "multiply-accumulates; 0 for kinds that are not counted in them"]
    constant_bytes: Annotated[int, "weights, biases and tables"]
    reason: Annotated[str, "why it is where it is"]
    way: Annotated[
        str, "how it is computed there: kernel, form, expected cycles; empty where the backend does not say"
    ]
    candidates: Annotated[tuple[CandidateEntry, ...], "every instance of the SoC"]
    slice_of: Annotated[
        SliceEntry | None, "the part of which operator it computes; null for an operator that is whole"
    ]
    link_of: Annotated[
        str, "the divided operator for whose slices it names bytes, or whose slices it gathers; else empty"
    ]


@frozen(kw_only=True)
class ShareEntry:
    """The places of a divided operator that one of its slices computes."""

    slice: Annotated[str, "one of `operators`"]
    instance: Annotated[str, "the instance that computes it"]
    start: Annotated[int, "the first place"]
    stop: Annotated[int, "the place behind the last one"]


@frozen(kw_only=True)
class DividedEntry:
    """An operator of the model's file that is [divided](parallel.md#one-operator-on-several-instances)."""

    whole: Annotated[OperatorEntry, "the operator as it was placed before, with the keys of `operators[]`"]
    axis: Annotated[int, "the dimension along which it is divided"]
    shares: Annotated[tuple[ShareEntry, ...], "its slices, in the order of places"]


@frozen(kw_only=True)
class PartitionEntry:
    """A piece of a model on one instance."""

    id: Annotated[str, "`p0`, `p1`, …"]
    target_arch: str
    instance: Annotated[str, "the instance of it: `accelerator`, `fpga_conv2d[1]`"]
    operators: Annotated[
        tuple[str, ...],
        "their ids, in the order of execution; an id begins with the operator's [kind](operators.md)",
    ]
    reason: Annotated[str, "why they were placed there"]
    notes: Annotated[
        tuple[str, ...],
        "the backend's notes about its kernel: the chosen tiling, the memory that a vendor's compiler took",
    ]
