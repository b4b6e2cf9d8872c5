"""The operators of a bundle one by one, each on the reference's own inputs of it.

The bundle itself runs, its kernels in their places, step by step. When a tensor is complete it is read, and
the reference's tensor is put in its place, so that a difference does not reach the next operator: whatever
the depth, an operator answers for itself alone. Each output is compared with the reference's (at most the
step that two ways of rounding a tie may differ by), and, where there is an oracle, with the result of exact
integer arithmetic on the same inputs, bit for bit. The outputs of an ordinary run are those of the steps one
by one, bit for bit: so a result for each operator holds for the run.
"""

from collections.abc import Mapping
from math import prod
from pathlib import Path

import numpy as np
from attrs import evolve, frozen

from target_arch.emit.programs.tracer import trace_table
from target_arch.plan.lowered import Lowered
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.run.exact.oracle import exact
from target_arch.run.executables.executable import build
from target_arch.run.execute.programs import run_frames
from target_arch.run.execute.traced import Trace, traced
from target_arch.run.references.reference import Array, Frame, Reference
from target_arch.run.verification.in_file import laid_out
from target_arch.run.verification.layer import LayerResults, Layers, Outcome
from target_arch.stages.steps.probes import probes


def verify_layers(
    planned: Lowered, reference: Reference, directory: Path, *, count: int, seed: int, rtl: bool = False
) -> Layers:
    """Compare every operator of the bundle in `directory`, which is of this model alone and for the host
    port, on `count` random frames. Raises as `build` and `run_frames` do.
    """
    model = planned.model
    reference.reset()
    frames = reference.frames(count, seed)
    inside = [_in_plan(model, reference.inside(frame)) for frame in frames]
    watched = [
        evolve(probe, replaced=probe.replaced and all(probe.tensor in each for each in inside))
        for probe in probes(model, planned.steps)
    ]
    text = trace_table(model.name, watched, len(planned.steps.steps))
    executable = build(directory, rtl=rtl, tracer=text)
    packed = [b"".join(value.tobytes() for value in frame) for frame in frames]
    given = [{name: value.tobytes() for name, value in each.items()} for each in inside]
    seen = traced(executable, watched, packed, given)
    alone = traced(executable, watched, packed)
    results = [
        LayerResults(operator=operator, model=model, reference=reference) for operator in model.operators
    ]
    replaced = frozenset(probe.tensor for probe in watched if probe.replaced)
    states = _initial(model)
    for number, frame in enumerate(frames):
        walk = _Walk(
            model=model,
            theirs=inside[number],
            replaced=replaced,
            given=frozenset(model.given),
            trace=seen[number],
        )
        values = {**dict(zip(model.inputs, _shaped(model, frame), strict=True)), **states}
        for result in results:
            outcome = walk.outcome(result.operator, values)
            result.add(number, outcome)
            if outcome.used is not None:
                values[result.operator.output] = outcome.used
        states = {state.tensor: values[state.next] for state in model.states if state.next in values}
    ran = run_frames(executable, packed)
    where = {choice.operator: choice.instance for choice in planned.graph.choices}
    return Layers(
        reference=reference.name,
        seed=seed,
        frames=count,
        layers=tuple(result.layer(where.get(result.operator.id, "")) for result in results),
        unlike=sum(one != each.outputs for one, each in zip(ran, alone, strict=True)),
    )


@frozen(kw_only=True)
class _Walk:
    """One frame, operator by operator."""

    model: Model
    theirs: Mapping[str, Array]
    replaced: frozenset[str]
    given: frozenset[str]
    trace: Trace

    def outcome(self, operator: Operator, values: Mapping[str, Array]) -> Outcome:
        """The output that an operator computed from `values`, the output it should have, and the value that
        its readers get. An operator that no step carries out is its own oracle: its output is bytes of other
        tensors.
        """
        name, tensors = operator.output, self.model.tensors
        known = all(each in values or tensors[each].data is not None for each in operator.inputs)
        must = exact(operator, self.model, values) if known else None
        theirs = self.theirs.get(name)
        ours = _read(self.trace.tensors[name], tensors[name]) if name in self.trace.tensors else None
        found = (theirs if name in self.replaced else None, ours, must)
        used = next((each for each in found if each is not None), None)
        own = all(each in self.replaced or each in self.given for each in operator.inputs)
        return Outcome(own=own, ours=ours, theirs=theirs, must=must, used=used)


def _in_plan(model: Model, inside: Mapping[str, Array]) -> dict[str, Array]:
    """The reference's tensors as those of the plan: by their names, in their shapes."""
    found = {}
    for name, tensor in model.tensors.items():
        theirs = None if tensor.origin is None else inside.get(tensor.origin.name)
        if theirs is None or tensor.origin is None or str(theirs.dtype) != tensor.dtype:
            continue
        if theirs.size == prod(tensor.origin.view):
            found[name] = laid_out(theirs, tensor.origin, tensor.shape)
    return found


def _read(content: bytes, tensor: Tensor) -> Array:
    return np.frombuffer(content, tensor.dtype).reshape(tensor.shape)


def _shaped(model: Model, frame: Frame) -> list[Array]:
    tensors = (model.tensors[name] for name in model.inputs)
    return [value.reshape(tensor.shape) for value, tensor in zip(frame, tensors, strict=True)]


def _initial(model: Model) -> dict[str, Array]:
    """The states before the first frame."""
    found = {}
    for state in model.states:
        tensor = model.tensors[state.tensor]
        data = None if state.initial is None else model.tensors[state.initial].data
        found[state.tensor] = _read(bytes(tensor.bytes) if data is None else data, tensor)
    return found
