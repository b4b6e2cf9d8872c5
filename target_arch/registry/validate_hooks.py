"""The rules for how a backend lowers: by `lower` or by stages, never both, and stages that fit together."""

from collections.abc import Iterator

from target_arch.backend.contract import Backend
from target_arch.backend.hooks import PLACES, GraphPass, Hooks, TirPass, TirPattern

_STAGES = ("legalize", "schedules", "codegen", "graph_codegen")
_LISTS = (("graph_passes", GraphPass, "load"), ("tir_patterns", TirPattern, "rewrite"))


def wrong_lowering(backend: Backend) -> Iterator[str]:
    """The faults in the way a backend lowers."""
    if backend.lower is None and backend.hooks is None:
        yield "neither `lower` nor `hooks` says how a partition becomes a kernel"
    elif backend.lower is not None and backend.hooks is not None:
        yield "both `lower` and `hooks` say how a partition becomes a kernel"
    elif backend.lower is not None and not callable(backend.lower):
        yield "`lower` is not callable"
    elif backend.hooks is not None:
        yield from _wrong_hooks(backend.hooks)


def _wrong_hooks(hooks: object) -> Iterator[str]:
    if not isinstance(hooks, Hooks):
        yield "`hooks` is not a Hooks"
        return
    for hook in _STAGES:
        if getattr(hooks, hook) is not None and not callable(getattr(hooks, hook)):
            yield f"`hooks.{hook}` is not callable"
    for name, kind, function in (*_LISTS, ("tir_passes", TirPass, "load")):
        yield from _wrong_list(getattr(hooks, name), f"hooks.{name}", kind, function)
    yield from _contradictions(hooks)


def _wrong_list(values: object, name: str, kind: type, function: str) -> Iterator[str]:
    if not isinstance(values, tuple):
        yield f"`{name}` is not a tuple"
        return
    for index, value in enumerate(values):
        if not isinstance(value, kind):
            yield f"`{name}[{index}]` is not a {kind.__name__}"
        elif not isinstance(value.name, str) or not value.name.strip():  # type: ignore[attr-defined]
            yield f"`{name}[{index}]` lacks a name"
        elif not callable(getattr(value, function)):
            yield f"`{name}[{index}]`: `{function}` is not callable"
        elif isinstance(value, TirPass) and value.place not in PLACES:
            places = ", ".join(f"`{place}`" for place in PLACES)
            yield f"`{name}[{index}]` stands at `{value.place}`, the places are {places}"


def _contradictions(hooks: Hooks) -> Iterator[str]:
    """A code generator that takes the partition as Relax leaves nothing to the hooks below."""
    if hooks.graph_codegen is None:
        return
    for name in ("legalize", "schedules", "tir_patterns", "tir_passes", "codegen"):
        if getattr(hooks, name):
            yield f"`hooks.{name}` is never reached, since `hooks.graph_codegen` takes the partition whole"
