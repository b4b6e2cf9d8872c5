"""ONNX's own tests of single operators: compiled, built, run, and compared with the answers they contain.

    python -m conformance.onnx_node_tests [--only TEXT] [--save FILE] [--results FILE] [--minutes NUMBER]

The tests are those inside the `onnx` package (`onnx.backend.test`) whose inputs and outputs are tensors of
numbers, without training and the copies in which ONNX replaced an operator by its definition.
A test is compiled in one of three ways, the first that is not refused:

    as it is      every input is an input of the bundle
    parameters    inputs 2 and later are constants of the model, as in exported models
    constant      all inputs are constants: the compiler computes the output

Models that compile become one bundle of several models, which is built with gcc and run once; an output
passes within the tolerances of its test, NaN and infinity included; a float16 may be off by one unit in its
last place more, as answers that were rounded after every step are. A refusal is an answer with a rule; where
that rule is one that no model of a user ought to meet, or the build or the run fails, it counts as an
exception. `--save` writes the outcome of every test, from which `docs/operators.md` is made; where only some
tests run, it keeps the file's outcomes of all others. `--results` keeps each outcome as soon as it is known,
and a run goes on from what the file has; `--minutes` ends a run early, with what is left to a next one.
"""

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import onnx
from attrs import evolve, frozen

from conformance.kept import Kept
from target_arch.diagnostics import DiagnosticError
from target_arch.emit.bundle import emit_bundle
from target_arch.emit.manifest import manifest
from target_arch.pipeline import CompileRequest, emission
from target_arch.pipeline.emission import emit_inputs
from target_arch.pipeline.planning import plan
from target_arch.pipeline.preparation import PreparedModel, prepare
from target_arch.plan.lowered import Lowered
from target_arch.plan.manifest.model import TensorEntry
from target_arch.plan.model_pools import Sharing
from target_arch.registry import PlugIns
from target_arch.run.bundles.write import write_bundle
from target_arch.run.executables.executable import build
from target_arch.run.execute.programs import run_frames

RESULTS = Path(__file__).parent / "onnx_node_tests.json"
WAYS = ("as it is", "parameters", "constant")
VERDICTS = ("pass", "refused", "wrong", "exception")
OURS = ("build-failed", "hook-failed", "run-failed", "wrong-kernel")
"""Rules that a model of a user never ought to meet."""
TYPES = frozenset(
    {"bool", "float16", "float32", *(f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64))}
)
"""Element types that count; tests with others are counted beside them."""
NOISY = ("DFT",)
"""Operators whose answers are rounding errors where the true value is zero.

Their elements may differ by one unit in the last place of the largest.
"""
GROUP = 48

Array = np.ndarray[Any, np.dtype[Any]]
Row = Mapping[str, object]
"""The outcome of a test as it is saved."""


@frozen(kw_only=True)
class Case:
    """A test: its operator, model, and the inputs and outputs of its first set of data."""

    name: str
    operator: str
    model: Any
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    rtol: float
    atol: float

    @property
    def counts(self) -> bool:
        """True where all tensors have element types that count."""
        return all(str(value.dtype) in TYPES for value in (*self.inputs, *self.outputs))


@frozen(kw_only=True)
class Outcome:
    """The outcome of one test: `pass` (and the way), `refused` (and the rule), `wrong` or `exception`."""

    case: Case
    verdict: str
    detail: str
    way: str = ""

    def row(self) -> dict[str, object]:
        """What is saved."""
        return {
            "operator": self.case.operator,
            "counts": self.case.counts,
            "verdict": self.verdict,
            "detail": self.detail,
            "way": self.way,
        }


@frozen(kw_only=True)
class Compiled:
    """A test whose model went through the compiler in one way, with the inputs left to feed."""

    case: Case
    way: str
    prepared: PreparedModel
    lowered: Lowered
    feed: tuple[Array, ...]


def cases(modules: Iterable[str] | None = None) -> tuple[Case, ...]:
    """The tests, by name: all, or those of some files of `onnx.backend.test.case.node`."""
    from onnx.backend.test.case import node

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if modules is None:
            found = node.collect_testcases(None)
        else:
            for module in modules:
                __import__(f"{node.__name__}.{module}")
            found = node._NodeTestCases
    made = (_case(each) for each in found if "_expanded" not in each.name)
    return tuple(sorted((case for case in made if case is not None), key=lambda case: case.name))


def _case(found: Any) -> Case | None:
    graph, domains = found.model.graph, {node.domain for node in found.model.graph.node}
    inputs, outputs = found.data_sets[0]
    values = (*graph.input, *graph.output)
    if any(not value.type.HasField("tensor_type") for value in values) or domains - {
        "",
        "ai.onnx",
        "ai.onnx.ml",
    }:
        return None
    if graph.node[-1].op_type.startswith(("Optional", "Sequence")):
        return None
    if any(value.type.tensor_type.elem_type == onnx.TensorProto.STRING for value in values):
        return None
    return Case(
        name=found.name,
        operator=graph.node[-1].op_type,
        model=found.model,
        inputs=tuple(map(_array, inputs)),
        outputs=tuple(map(_array, outputs)),
        rtol=found.rtol,
        atol=found.atol,
    )


def _array(value: Any) -> Array:
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return np.asarray(value)


def outcomes(tests: Sequence[Case], folder: Path, plug_ins: PlugIns, until: float = inf) -> Iterator[Outcome]:
    """The outcome of every test that is begun until then; tests that compile are run in groups."""
    waiting: list[Compiled] = []
    for case in tests:
        if time.monotonic() > until:
            break
        found = compiled(case, folder, plug_ins)
        if isinstance(found, Outcome):
            yield found
            continue
        waiting.append(found)
        if len(waiting) == GROUP:
            yield from judged(waiting, folder)
            waiting = []
    yield from judged(waiting, folder)


def compiled(case: Case, folder: Path, plug_ins: PlugIns) -> Compiled | Outcome:
    """The test as far as the memory plan, in the first way that is not refused."""
    last = None
    for way, constants in _ways(case):
        path = folder / f"{case.name}.onnx"
        path.write_bytes(_with_constants(case, constants).SerializeToString())
        request = CompileRequest(model_path=path, soc=plug_ins.backends.default_soc("c"), plug_ins=plug_ins)
        try:
            prepared = prepare(request)
            lowered = plan(prepared, request.soc)
        except DiagnosticError as refusal:
            last = Outcome(case=case, verdict=_verdict(refusal), detail=_said(refusal, path))
            if last.verdict == "refused":
                continue
            return last
        except Exception as error:
            return Outcome(case=case, verdict="exception", detail=f"{type(error).__name__}: {error}"[:200])
        feed = tuple(value for number, value in enumerate(case.inputs) if number not in constants)
        return Compiled(case=case, way=way, prepared=prepared, lowered=lowered, feed=feed)
    assert last is not None
    return last


def _ways(case: Case) -> Iterator[tuple[str, range]]:
    count = len(case.inputs)
    yield WAYS[0], range(0)
    if count > 1:
        yield WAYS[1], range(1, count)
    if count:
        yield WAYS[2], range(count)


def _with_constants(case: Case, constants: range) -> Any:
    """The model, some of whose inputs are initializers instead."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    inputs = list(model.graph.input)
    for number in constants:
        model.graph.input.remove(inputs[number])
        model.graph.initializer.append(onnx.numpy_helper.from_array(case.inputs[number], inputs[number].name))
    return model


def _verdict(refusal: DiagnosticError) -> str:
    return "exception" if any(each.rule in OURS for each in refusal.diagnostics) else "refused"


def _said(refusal: DiagnosticError, path: Path) -> str:
    first = refusal.diagnostics[0]
    return f"[{first.rule}] {first.message}".replace(str(path), path.name)[:200]


def judged(group: Sequence[Compiled], folder: Path) -> Iterator[Outcome]:
    """The outcomes of tests whose bundle is built and run; a group that fails is halved."""
    if not group:
        return
    try:
        results = _run(group, folder)
    except Exception as error:
        if len(group) > 1:
            yield from judged(group[: len(group) // 2], folder)
            yield from judged(group[len(group) // 2 :], folder)
            return
        detail = " ".join(str(error).split())[:200]
        yield Outcome(case=group[0].case, verdict="exception", detail=detail, way=group[0].way)
        return
    for each, values in zip(group, results, strict=True):
        fault = _fault(each.case, values)
        yield Outcome(case=each.case, verdict="wrong" if fault else "pass", detail=fault, way=each.way)


def _run(group: Sequence[Compiled], folder: Path) -> list[list[Array]]:
    """For each test its outputs."""
    with tempfile.TemporaryDirectory(dir=folder) as bundle:
        names = [f"t{number}" for number in range(len(group))]
        prepared = [
            evolve(each.prepared, model=evolve(each.prepared.model, name=name))
            for each, name in zip(group, names, strict=True)
        ]
        lowered = [_named(each.lowered, name) for each, name in zip(group, names, strict=True)]
        # The answers of the tests are the reference: no self-test from another one.
        with patch.object(emission, "self_test", lambda *_, **__: "the tests have answers"):
            inputs = emit_inputs("t0" if len(group) == 1 else "tests", prepared, lowered, Sharing.SHARED)
        facts = manifest(inputs)
        write_bundle(emit_bundle(inputs, facts), Path(bundle))
        executable = build(Path(bundle), optimize="-O1")
        frame = b"".join(np.ascontiguousarray(value).tobytes() for each in group for value in each.feed)
        (answer,) = run_frames(executable, [frame], timeout=60)
    found, place = [], 0
    for each, model in zip(group, facts.models, strict=True):
        values: dict[str, Array] = {}
        for tensor in model.outputs:
            content = answer[place : place + tensor.bytes]
            values[tensor.name] = np.frombuffer(content, tensor.dtype).reshape(tensor.shape)
            place += tensor.bytes
        entries = model.outputs[: len(each.case.outputs)]
        found.append([_there(values, entry) for entry in entries])
    return found


def _there(values: Mapping[str, Array], entry: TensorEntry) -> Array:
    """What is there of an output: of one whose size depends on values, as much as its count says."""
    if entry.bounded is None:
        return values[entry.name]
    count = int(values[entry.bounded.count][0])
    return values[entry.name].take(range(count), axis=entry.bounded.axis)


def _named(lowered: Lowered, name: str) -> Lowered:
    graph = lowered.graph
    return evolve(lowered, graph=evolve(graph, model=evolve(graph.model, name=name)))


def _fault(case: Case, values: Sequence[Array]) -> str:
    """What is wrong with the outputs; empty where they are right."""
    if len(values) != len(case.outputs):
        return f"{len(values)} outputs for {len(case.outputs)}"
    for number, (expected, found) in enumerate(zip(case.outputs, values, strict=True)):
        if (expected.shape, expected.dtype) != (found.shape, found.dtype):
            has = f"{found.dtype}{list(found.shape)}"
            return f"output {number} is {has} for {expected.dtype}{list(expected.shape)}"
        right = found == expected
        if expected.dtype.kind == "f":
            noise = np.spacing(np.abs(expected).max()) if case.operator in NOISY else 0.0
            if expected.dtype == np.float16:
                noise = noise + np.spacing(np.where(np.isfinite(expected), np.abs(expected), np.float16(0)))
            right = np.isclose(found, expected, rtol=case.rtol, atol=case.atol + noise, equal_nan=True)
        if not right.all():
            first = np.flatnonzero(~right.ravel())[0]
            return f"output {number}: {found.flat[first]} for {expected.flat[first]} at element {first}"
    return ""


def totals(rows: Iterable[Row]) -> Counter[str]:
    """How many tests had which verdict."""
    return Counter(
        f"pass ({row['way']})" if row["verdict"] == "pass" else str(row["verdict"]) for row in rows
    )


def page() -> str:
    """The saved outcomes as the tables of `docs/operators.md`."""
    rows = list(json.loads(RESULTS.read_text()).values())
    head = ("element types", "tests", "pass", "with parameters", "constant", "refused", "wrong", "exception")
    lines = []
    for title, part in (("float32, float16, bool, integers of 8 to 64 bits", True), ("others", False)):
        chosen = [row for row in rows if row["counts"] is part]
        passed = Counter(row["way"] for row in chosen if row["verdict"] == "pass")
        others = Counter(row["verdict"] for row in chosen)
        numbers = (len(chosen), *(passed[way] for way in WAYS), *(others[each] for each in VERDICTS[1:]))
        lines.append((title, *map(str, numbers)))
    whole, rest = _by_operator([row for row in rows if row["counts"]])
    return "\n\n".join(
        (
            _table(head, lines),
            f"Every test passes of: {', '.join(f'`{name}`' for name in whole)}.",
            _table(("operator", "tests", "pass", "the first of the others"), rest),
        )
    )


def _by_operator(rows: Sequence[dict[str, Any]]) -> tuple[list[str], list[tuple[str, ...]]]:
    """Operators of which every test passes, and a line for each other one."""
    whole, rest = [], []
    for name in sorted({row["operator"] for row in rows}):
        own = [row for row in rows if row["operator"] == name]
        others = [row for row in own if row["verdict"] != "pass"]
        if not others:
            whole.append(name)
            continue
        said = f"{others[0]['verdict']}: {others[0]['detail']}".replace("|", "\\|").rstrip()
        rest.append((f"`{name}`", str(len(own)), str(len(own) - len(others)), said))
    return whole, rest


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (head, ["---"] * len(head), *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def save(path: Path, rows: Mapping[str, Row]) -> None:
    """Write the outcomes, a line each."""
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(rows[name])}" for name in sorted(rows))
    path.write_text(f"{{\n{lines}\n}}\n")


def main() -> int:
    """Print a line for every test that does not pass, and the totals; 1 where one is wrong or raises."""
    arguments = _arguments()
    start = time.monotonic()
    wanted = [
        case
        for case in cases()
        if arguments.only in case.name and (not arguments.operator or case.operator in arguments.operator)
    ]
    kept = Kept(arguments.results)
    rows = kept.known
    left = [case for case in wanted if case.name not in rows]
    with tempfile.TemporaryDirectory() as folder:
        until = start + 60 * arguments.minutes
        for outcome in outcomes(left, Path(folder), PlugIns.discover(()), until):
            name = outcome.case.name
            kept.add(name, outcome.row())
            if outcome.verdict != "pass":
                print(f"{outcome.verdict:9} {name}: {outcome.detail}", flush=True)
    found = {case.name: rows[case.name] for case in wanted if case.name in rows}
    for title, part in (("types that count", True), ("other types", False)):
        chosen = [row for row in found.values() if row["counts"] is part]
        print(f"{title}: {len(chosen)} tests;", dict(sorted(totals(chosen).items())))
    print(f"{len(wanted) - len(found)} left; {time.monotonic() - start:.0f} s")
    if arguments.save and len(found) == len(wanted):
        narrowed = bool(arguments.only or arguments.operator) and arguments.save.exists()
        save(arguments.save, {**(json.loads(arguments.save.read_text()) if narrowed else {}), **found})
    return 1 if any(row["verdict"] in ("wrong", "exception") for row in found.values()) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="tests whose name contains this")
    parser.add_argument("--operator", action="append", metavar="NAME", help="tests of these operators")
    parser.add_argument("--save", type=Path, metavar="FILE", help="the outcomes, once all are known")
    parser.add_argument("--results", type=Path, metavar="FILE", help="outcomes that a run goes on from")
    parser.add_argument("--minutes", type=float, default=inf, metavar="NUMBER", help="no test starts later")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
