"""The hooks of a plug-in, wrapped so that a failure is reported as the plug-in's own.

A plug-in is foreign code. Any exception becomes a message with the backend, the hook, and the partition or
operator; refusals that the contract knows (`DoesNotFit`, DiagnosticError) pass unchanged.
"""

import math
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs
from attrs import evolve, field, frozen

from target_arch.backend.contract import Backend, DoesNotFit, Hooks, LoweringRequest, Question
from target_arch.backend.hooks import Composite
from target_arch.diagnostics import Diagnostic, DiagnosticError, Keyword, advice
from target_arch.plan.kernels import Kernel


class HookError(DiagnosticError):
    """A hook of a plug-in that failed, or answered with a value outside the contract. `backend` is the name
    of the plug-in, `word` what kind of plug-in it is.
    """

    def __init__(self, backend: str, hook: str, said: str, asked: str = "", word: str = "backend") -> None:
        self.backend, self.hook = backend, hook
        place = f"{word} `{backend}`, hook `{hook}`{asked}"
        hint = advice(Keyword("__cause__"), " shows where it was raised")
        super().__init__([Diagnostic(rule="hook-failed", place=place, message=said, hint=hint)])


@frozen
class Guard:
    """A hook that can be called as before. Two guards of one function are equal, as the functions are."""

    function: Callable[..., Any]
    hook: str = field(eq=False)
    backend: str = field(eq=False)
    word: str = field(default="backend", eq=False)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        try:
            answer = self.function(*arguments, **named)
        except (DoesNotFit, DiagnosticError):
            raise
        except (Exception, SystemExit) as error:
            raised = last_line(error)
            raise HookError(self.backend, self.hook, raised, _asked(arguments), self.word) from error
        said = _WRONG[self.hook](answer) if self.hook in _WRONG else None
        if said is not None:
            raise HookError(self.backend, self.hook, said, _asked(arguments), self.word)
        return answer


@frozen
class PatternGuard(Guard):
    """The `load` of a pattern; the `build` functions of the matchers that it makes are guarded too."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        from target_arch.relax.patterns.matcher import Matcher

        loaded = super().__call__(*arguments, **named)
        matchers = tuple(loaded) if isinstance(loaded, Iterable) else (loaded,)
        for matcher in matchers:
            if not isinstance(matcher, Matcher):
                said = f"`load` answers a {type(matcher).__name__}, not a Matcher or several"
                raise HookError(self.backend, self.hook, said)
        return tuple(
            evolve(matcher, build=Guard(matcher.build, f"{self.hook}.build", self.backend))
            for matcher in matchers
        )


@frozen
class PassGuard(Guard):
    """The `load` of a pass; the pass that it makes is guarded too."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        made = super().__call__(*arguments, **named)
        return Guard(made, self.hook, self.backend)


def guarded(backend: Backend) -> Backend:
    """The backend with every hook guarded, those of its patterns and its runtime included."""
    patterns = tuple(
        evolve(pattern, load=PatternGuard(pattern.load, f"patterns[{pattern.name}]", backend.name))
        for pattern in backend.patterns
    )
    runtime = _guarded(backend.runtime, backend.name, "runtime.")
    whole: Backend = _guarded(backend, backend.name)
    return evolve(whole, patterns=patterns, runtime=runtime, hooks=_guarded_hooks(backend))


def _guarded_hooks(backend: Backend) -> Hooks | None:
    """The stages, with every pass and pattern in them."""
    if backend.hooks is None:
        return None
    whole: Hooks = _guarded(backend.hooks, backend.name, "hooks.")
    return evolve(
        whole,
        graph_passes=_guarded_passes(whole.graph_passes, "hooks.graph_passes", backend.name),
        tir_passes=_guarded_passes(whole.tir_passes, "hooks.tir_passes", backend.name),
        tir_patterns=tuple(
            evolve(each, rewrite=Guard(each.rewrite, f"hooks.tir_patterns[{each.name}]", backend.name))
            for each in whole.tir_patterns
        ),
    )


def _guarded_passes(passes: tuple[Any, ...], hook: str, backend: str) -> tuple[Any, ...]:
    return tuple(evolve(each, load=PassGuard(each.load, f"{hook}[{each.name}]", backend)) for each in passes)


def last_line(error: BaseException) -> str:
    """The last line of Python's traceback of an exception, with its type."""
    lines = "".join(traceback.format_exception_only(error)).strip().splitlines()
    kind, last = type(error).__name__, lines[-1].strip().removeprefix(f"{type(error).__module__}.")
    return last if last.startswith(kind) else f"{kind}: {last}"


def _guarded(value: Any, backend: str, prefix: str = "") -> Any:
    """The value with each field that is a function guarded."""
    changes: dict[str, Any] = {}
    for each in attrs.fields(type(value)):
        held, hook = getattr(value, each.name), f"{prefix}{each.name}"
        if callable(held):
            changes[each.name] = Guard(held, hook, backend)
    return evolve(value, **changes)


def _asked(arguments: tuple[Any, ...]) -> str:
    """The partition or operator that a hook was called for, as part of a message's place."""
    for about in arguments:
        if isinstance(about, tuple) and (first := _asked(about[:1])):
            return first
        if isinstance(about, LoweringRequest):
            return f", partition `{about.partition.id}` on `{about.instance.name}`"
        if isinstance(about, Composite):
            return f", operator `{about.operator.id}` on `{about.request.instance.name}`"
        if isinstance(about, Question):
            return f", operator `{about.operator.id}` on `{about.instance.name}`"
    return ""


def _supports(answer: object) -> str | None:
    if answer is None or (isinstance(answer, str) and answer.strip()):
        return None
    return f"it answers {answer!r}, not None or the reason why not"


def _cost(answer: object) -> str | None:
    number = isinstance(answer, int | float) and not isinstance(answer, bool)
    if number and not math.isnan(answer) and answer >= 0:  # type: ignore[arg-type,operator]
        return None
    return f"it answers {answer!r}, not seconds"


def _lower(answer: object) -> str | None:
    return None if isinstance(answer, Kernel) else f"it answers a {type(answer).__name__}, not a Kernel"


_WRONG: Mapping[str, Callable[[object], str | None]] = {
    "supports": _supports,
    "cost": _cost,
    "joins": _supports,
    "lower": _lower,
    "hooks.codegen": _lower,
    "hooks.graph_codegen": _lower,
}
"""The check of each hook's answer, by the name of the hook: a text where the answer is wrong."""
