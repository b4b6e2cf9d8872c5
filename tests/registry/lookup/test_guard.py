"""A hook that fails is told with backend, hook and what it was asked about; refusals go through."""

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from target_arch.backend.contract import (
    Backend,
    DoesNotFit,
    LoweringRequest,
    Pattern,
    Question,
    RuntimeSources,
)
from target_arch.backend.hooks import Hooks, TirPass, TirPattern
from target_arch.diagnostics import Diagnostic, DiagnosticError
from target_arch.plan.kernels import Kernel
from target_arch.plan.memory import Budget
from target_arch.plan.model import Model, Operator, Tensor
from target_arch.plan.partitions import Partition
from target_arch.registry import Backends, HookError
from target_arch.soc import read_soc

SOC = read_soc("zynq_edge")
OPERATOR = Operator(id="relu_1", kind="relu", arithmetic="float", inputs=("x",), constants=(), output="y")
TENSORS = {name: Tensor(name=name, shape=(8,), dtype="float32") for name in ("x", "y")}
MODEL = Model(
    name="one", source="a test", inputs=("x",), outputs=("y",), tensors=TENSORS, operators=(OPERATOR,)
)
QUESTION = Question(operator=OPERATOR, model=MODEL, instance=SOC.instance("dsp_cpu"), soc=SOC)
REQUEST = LoweringRequest(
    partition=Partition(id="p3", instance="dsp_cpu", operators=(OPERATOR,), reason=""),
    model=MODEL,
    soc=SOC,
    instance=SOC.instance("dsp_cpu"),
    budget=Budget(partition="p3", sites={}),
)


def answering(answer: object) -> Callable[[Any], Any]:
    return lambda _: answer


def raising(error: BaseException) -> Callable[..., Any]:
    def hook(*_: object) -> Any:
        raise error

    return hook


def make(**changes: Any) -> Backend:
    whole = Backend(
        name="vendor",
        description="a backend for tests",
        codegen="c",
        patterns=(),
        supports=answering(None),
        cost=answering(1e-6),
        lower=answering(Kernel(partition="p3", instance="dsp_cpu")),
        contract=2,
    )
    backends = Backends()
    backends.add(evolve(whole, **changes))
    return backends["vendor"]


def said(call: Callable[[], object]) -> str:
    with pytest.raises(HookError) as caught:
        call()
    return str(caught.value)


HINT = "hint: `__cause__` shows where it was raised"


@pytest.mark.parametrize(
    ("changes", "argument", "message"),
    [
        (
            {"supports": raising(KeyError("strides"))},
            QUESTION,
            "hook `supports`, operator `relu_1` on `dsp_cpu`: error: KeyError: 'strides'",
        ),
        (
            {"supports": answering(True)},
            QUESTION,
            "hook `supports`, operator `relu_1` on `dsp_cpu`: error: it answers True, not None or the reason "
            "why not",
        ),
        (
            {"cost": raising(ZeroDivisionError("division by zero"))},
            QUESTION,
            "hook `cost`, operator `relu_1` on `dsp_cpu`: error: ZeroDivisionError: division by zero",
        ),
        (
            {"cost": raising(SystemExit("stop"))},
            QUESTION,
            "hook `cost`, operator `relu_1` on `dsp_cpu`: error: SystemExit: stop",
        ),
        (
            {"cost": answering(-1.0)},
            QUESTION,
            "hook `cost`, operator `relu_1` on `dsp_cpu`: error: it answers -1.0, not seconds",
        ),
        (
            {"cost": answering(float("nan"))},
            QUESTION,
            "hook `cost`, operator `relu_1` on `dsp_cpu`: error: it answers nan, not seconds",
        ),
        (
            {"lower": raising(ValueError("InternalError\n  Check failed: shape\nno tile of 7 rows"))},
            REQUEST,
            "hook `lower`, partition `p3` on `dsp_cpu`: error: ValueError: no tile of 7 rows",
        ),
        (
            {"joins": raising(LookupError("no compiler"))},
            (QUESTION, QUESTION),
            "hook `joins`, operator `relu_1` on `dsp_cpu`: error: LookupError: no compiler",
        ),
        (
            {"joins": answering(False)},
            (QUESTION,),
            "hook `joins`, operator `relu_1` on `dsp_cpu`: error: it answers False, not None or the reason "
            "why not",
        ),
        (
            {"lower": answering(None)},
            REQUEST,
            "hook `lower`, partition `p3` on `dsp_cpu`: error: it answers a NoneType, not a Kernel",
        ),
    ],
)
def test_what_a_hook_does_wrong(changes: dict[str, Any], argument: object, message: str) -> None:
    backend = make(**changes)
    (hook,) = changes
    assert (
        said(lambda: getattr(backend, hook)(argument)) == f"backend `vendor`, {message} [hook-failed]\n{HINT}"
    )


def test_the_hooks_of_the_runtime() -> None:
    backend = make(runtime=RuntimeSources(driver="d", files=raising(FileNotFoundError("driver.c"))))
    assert said(backend.runtime.files) == (
        f"backend `vendor`, hook `runtime.files`: error: FileNotFoundError: driver.c [hook-failed]\n{HINT}"
    )


def test_a_pattern_that_cannot_be_loaded() -> None:
    backend = make(patterns=(Pattern(name="tanh", load=raising(NameError("no is_op"))),))
    assert said(backend.patterns[0].load) == (
        f"backend `vendor`, hook `patterns[tanh]`: error: NameError: no is_op [hook-failed]\n{HINT}"
    )


def test_a_pattern_that_makes_no_matcher() -> None:
    backend = make(patterns=(Pattern(name="tanh", load=lambda: "tanh"),))
    assert said(backend.patterns[0].load) == (
        "backend `vendor`, hook `patterns[tanh]`: error: `load` answers a str, not a Matcher or several "
        f"[hook-failed]\n{HINT}"
    )


def test_a_matcher_that_fails() -> None:
    from target_arch.relax.patterns.matcher import Matcher

    matcher = Matcher(roots=("tanh",), pattern=None, calls={}, build=raising(RuntimeError("which call")))
    backend = make(patterns=(Pattern(name="tanh", load=lambda: matcher),))
    (loaded,) = backend.patterns[0].load()
    assert said(lambda: loaded.build(None)) == (
        "backend `vendor`, hook `patterns[tanh].build`: error: RuntimeError: which call "
        f"[hook-failed]\n{HINT}"
    )


def test_refusals_are_no_failures() -> None:
    with pytest.raises(DoesNotFit):
        make(lower=raising(DoesNotFit("relu_1", "dsp_tcm", 8, 4))).lower(REQUEST)
    refusal = DiagnosticError([Diagnostic(rule="vendor", place="here", message="no")])
    with pytest.raises(DiagnosticError) as caught:
        make(lower=raising(refusal)).lower(REQUEST)
    assert caught.value is refusal


def test_the_error_keeps_its_cause() -> None:
    error = ValueError("no")
    with pytest.raises(HookError) as caught:
        make(lower=raising(error)).lower(REQUEST)
    assert caught.value.__cause__ is error


def test_shared_patterns_stay_one() -> None:
    """The importer tries each pattern once, though several backends list it."""
    pattern = Pattern(name="tanh", load=tuple)
    one, two = make(patterns=(pattern,)), make(patterns=(pattern,))
    assert len({*one.patterns, *two.patterns}) == 1


def passing(load: Callable[..., Any]) -> Hooks:
    return Hooks(tir_passes=(TirPass(name="sync", place="last", load=load),))


class VendorError(Exception):
    """An error of the plug-in's own."""


STAGES = {
    "hooks.codegen": (
        Hooks(codegen=raising(VendorError("no 'y'"))),
        lambda hooks: hooks.codegen((None,), REQUEST),
    ),
    "hooks.schedules": (
        Hooks(schedules=raising(KeyError("y"))),
        lambda hooks: hooks.schedules(None, REQUEST),
    ),
    "hooks.tir_passes[sync]": (
        passing(answering(raising(KeyError("y")))),
        lambda hooks: hooks.tir_passes[0].load(REQUEST)(None),
    ),
    "hooks.tir_patterns[dma]": (
        Hooks(tir_patterns=(TirPattern(name="dma", rewrite=raising(KeyError("y"))),)),
        lambda hooks: hooks.tir_patterns[0].rewrite(None, REQUEST),
    ),
}


@pytest.mark.parametrize("hook", STAGES)
def test_the_stages_of_a_backend(hook: str) -> None:
    hooks, call = STAGES[hook]
    message = said(lambda: call(make(lower=None, hooks=hooks).hooks))
    about = "" if "passes" in hook else ", partition `p3` on `dsp_cpu`"
    place = f"backend `vendor`, hook `{hook}`{about}"
    kind = "VendorError: no 'y'" if "codegen" in hook else "KeyError: 'y'"
    assert message == f"{place}: error: {kind} [hook-failed]\n{HINT}"
