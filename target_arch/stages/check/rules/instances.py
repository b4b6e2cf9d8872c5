"""Rules of instances: how each is loaded, which memories it can touch, which events its calls have."""

from collections.abc import Iterator, Mapping

from target_arch.plan.kernels import Access, Operand
from target_arch.plan.memory import Buffer
from target_arch.plan.steps import Dispatch, Load
from target_arch.soc.model import Instance, SoC
from target_arch.soc.words import OperandRule
from target_arch.stages.check.rules.faults import Fault


class Instances:
    """The instances of a chip, with those loaded so far."""

    def __init__(self, soc: SoC) -> None:
        self._soc = soc
        self._known = {instance.name: instance for instance in soc.instances}
        self._loaded: set[str] = set()

    def load(self, step: Load, *, late: bool) -> Iterator[Fault]:
        """An instance is loaded; `late` after a step that is no load."""
        if late:
            yield "late-load", "a load must stand before every other step"
        instance = self._known.get(step.instance)
        if instance is None:
            yield "unknown-instance", f"`{step.instance}` is no instance of this chip"
        elif (step.process, step.image) != (instance.arch.load.process, instance.arch.load.image):
            yield "wrong-load", f"`{step.instance}` is not loaded as it is described"
        if step.instance in self._loaded:
            yield "wrong-load", f"`{step.instance}` is loaded twice"
        self._loaded.add(step.instance)

    def dispatch(self, step: Dispatch, buffers: Mapping[str, Buffer]) -> Iterator[Fault]:
        """Everything wrong with a call on known buffers."""
        if not step.function:
            yield "not-lowered", f"partition `{step.partition}` has no kernel"
        instance = self._known.get(step.instance)
        if instance is None:
            yield "unknown-instance", f"`{step.instance}` is no instance of this chip"
            return
        if instance.arch.host != (step.event is None):
            message = f"a dispatch to `{step.instance}` and the event `{step.event}` do not go together"
            yield "wrong-event", message
        if step.event is not None and step.event.timeline != step.instance:
            yield "wrong-event", f"`{step.event}` is not on the timeline of `{step.instance}`"
        if not instance.arch.host and step.instance not in self._loaded:
            yield "not-loaded", f"`{step.instance}` is used without a load"
        for operand in step.operands:
            yield from self._operand(instance, operand, buffers[operand.of].memory)

    def _operand(self, instance: Instance, operand: Operand, memory: str) -> Iterator[Fault]:
        """The host takes operands wherever it sees them, another instance in its own memories, and where the
        description says so, what it only reads wherever it sees that.
        """
        reads = instance.arch.operands == OperandRule.OUTPUTS and operand.access == Access.READ
        own = memory in (*instance.memory, *instance.buffers.values())
        if not (self._soc.sees(instance, memory) if instance.arch.host or reads else own):
            yield "not-observed", f"`{instance.name}` cannot take `{operand.of}` where it is, in `{memory}`"
        if operand.access.writes and not self._soc.memory(memory).writable:
            yield "not-writable", f"`{operand.of}` is written in `{memory}`, which cannot be written"
