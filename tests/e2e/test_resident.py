"""Constants that stay from run to run: the same bytes in less time, and everything that shows it."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve

from target_arch.pipeline import CompileRequest, ModelsRequest, compile_model, compile_models
from target_arch.pipeline.compilation import CompiledModel
from target_arch.plan.kernels import Slice
from target_arch.plan.memory import BufferKind
from target_arch.plan.printed.text import simulated_run
from target_arch.plan.resident import Resident
from target_arch.plan.steps import Copy, Dispatch, Fill, Step
from target_arch.run.bundles.write import write_bundle
from target_arch.run.executables.executable import build
from target_arch.run.execute.programs import run_frames
from target_arch.run.references.find import reference_for
from target_arch.soc import read_soc
from target_arch.stages.check.meaning.check import check_meaning
from target_arch.stages.check.plan import check
from target_arch.stages.errors import CheckError
from tests.e2e.conftest import DIGITS


def request(choice: Resident, soc: str = "zynq_edge", **facts: object) -> CompileRequest:
    return CompileRequest(model_path=DIGITS, soc=read_soc(soc), resident=choice, **facts)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def copying() -> CompiledModel:
    return compile_model(request(Resident.NEVER))


@pytest.fixture(scope="module")
def resident() -> CompiledModel:
    return compile_model(request(Resident.AUTO))


def frames(count: int) -> tuple[bytes, ...]:
    every = reference_for(DIGITS).frames(count, seed=5)
    return tuple(b"".join(part.tobytes() for part in frame) for frame in every)


def outputs(made: CompiledModel, folder: Path) -> object:
    write_bundle(made.bundle, folder)
    return run_frames(build(folder), frames(20))


@pytest.mark.slow
def test_outputs_are_those_of_a_run_that_copies(
    copying: CompiledModel, resident: CompiledModel, tmp_path: Path
) -> None:
    assert outputs(resident, tmp_path / "resident") == outputs(copying, tmp_path / "copying")


def test_placement_counts_on_what_stays(shared: Path) -> None:
    """Layers go to the DSP, in whose memory most of their weights have room."""
    model = shared / "models" / "ad01_int8.tflite"
    copying, resident = (
        compile_model(CompileRequest(model_path=model, soc=read_soc("zynq_edge"), resident=choice))
        for choice in (Resident.NEVER, Resident.AUTO)
    )
    assert resident.makespan < 0.7 * copying.makespan
    assert resident.graph.choices != copying.graph.choices


def test_a_run_is_shorter(copying: CompiledModel, resident: CompiledModel) -> None:
    before, after = copying.execution, resident.execution
    assert before is not None
    assert after is not None
    assert after.makespan < before.makespan
    assert after.copied == before.makespan
    assert "; 112 us with all constants copied; " in simulated_run(after)
    kinds = {buffer.name: buffer.kind for buffer in resident.plan.buffers}
    steps = [step for step in resident.steps.steps if isinstance(step, Fill)]
    assert {kinds[step.copy.target.of] for step in steps} == {BufferKind.RESIDENT}
    assert copies_of_constants(resident) < copies_of_constants(copying)


def copies_of_constants(made: CompiledModel) -> int:
    kinds = {buffer.name: buffer.kind for buffer in made.plan.buffers}
    copies = (step for step in made.steps.steps if isinstance(step, Copy))
    return sum(kinds[copy.source.of] is BufferKind.CONSTANT for copy in copies)


def test_a_gpu_has_its_constants() -> None:
    before, after = (compile_model(request(choice, "orin_like")).execution for choice in Resident)
    assert before is not None
    assert after is not None
    assert min(before.makespan, after.makespan) < 0.6 * max(before.makespan, after.makespan)


def test_the_manifest_has_its_own_pool_and_steps(resident: CompiledModel) -> None:
    entry = resident.manifest
    pools = {name: pool for name, pool in entry.pools.items() if name.endswith(".residents")}
    assert pools
    assert all(pool.peak for pool in pools.values())
    kinds = [step.kind for step in entry.steps]
    first = kinds.index("fill")
    assert kinds[first : first + kinds.count("fill")] == ["fill"] * kinds.count("fill")
    assert entry.execution is not None
    assert entry.execution.copied > entry.execution.makespan
    assert entry.execution.filling > 0


@pytest.mark.slow
def test_frames_in_flight_have_residents(tmp_path: Path) -> None:
    made = compile_model(request(Resident.AUTO, frames=3))
    assert made.frames is not None
    loads = made.frames.order.at_init
    assert [step for step in loads if isinstance(step, Fill)]
    assert not [step for step in made.frames.order.steps[len(loads) :] if isinstance(step, Fill)]
    write_bundle(made.bundle, tmp_path / "out")
    runner = str(build(tmp_path / "out").runner.absolute())
    data = b"".join(frames(12))
    single, flying = (
        subprocess.run([runner, *flags], input=data, capture_output=True, check=True).stdout
        for flags in ((), ("--in-flight",))
    )
    assert single
    assert single == flying


def test_several_models_keep_their_residents_apart(resident: CompiledModel) -> None:
    one, other = (request(Resident.AUTO, name=name) for name in ("one", "other"))
    made = compile_models(ModelsRequest(models=(one, other)))
    pools = [pool for pool in made.pools.pools if pool.pool.resident]
    assert pools
    for pool in pools:
        assert not pool.overlaid
        assert all(pool.peaks)
        assert pool.offsets[1] >= pool.peaks[0]
    assert {model.execution.makespan for model in made.models if model.execution} == {
        resident.execution.makespan if resident.execution else 0.0
    }


def faults(made: CompiledModel, change: Callable[[list[Step]], None]) -> set[str]:
    """The rules of the faults of its steps after a change."""
    steps = list(made.steps.steps)
    change(steps)
    order = evolve(made.steps, steps=tuple(steps))
    try:
        check(made.request.soc, order, made.plan)
        check_meaning(made.request.soc, made.graph, made.kernels, order, made.plan)
    except CheckError as error:
        return {diagnostic.rule for diagnostic in error.diagnostics}
    return set()


def numbers(steps: list[Step]) -> list[int]:
    return [number for number, step in enumerate(steps) if isinstance(step, Fill)]


def recounted(steps: list[Step]) -> None:
    """The fills with the events that they have in this order."""
    counts: dict[str, int] = {}
    for number in numbers(steps):
        step = steps[number]
        assert isinstance(step, Fill)
        event = step.copy.event
        if event is not None:
            counts[event.timeline] = counts.get(event.timeline, 0) + 1
            steps[number] = Fill(copy=evolve(step.copy, event=evolve(event, value=counts[event.timeline])))


def test_every_fill_is_needed(resident: CompiledModel) -> None:
    def without(number: int) -> Callable[[list[Step]], None]:
        def change(steps: list[Step]) -> None:
            del steps[number]
            recounted(steps)

        return change

    assert faults(resident, recounted) == set()
    for number in numbers(list(resident.steps.steps)):
        assert "read-before-write" in faults(resident, without(number)), number


def test_a_fill_behind_the_first_step_is_too_late(resident: CompiledModel) -> None:
    def later(steps: list[Step]) -> None:
        fill = steps.pop(numbers(steps)[-1])
        steps.insert(numbers(steps)[-1] + 2, fill)

    assert "late-fill" in faults(resident, later)


def test_other_constants_of_the_same_size_are_found(resident: CompiledModel) -> None:
    def swapped(steps: list[Step]) -> None:
        by_size: dict[tuple[int, str], list[int]] = {}
        for number in numbers(steps):
            step = steps[number]
            assert isinstance(step, Fill)
            by_size.setdefault((step.copy.source.bytes, step.copy.engine), []).append(number)
        one, other = next(pair[:2] for pair in by_size.values() if len(pair) > 1)
        first, second = steps[one], steps[other]
        assert isinstance(first, Fill)
        assert isinstance(second, Fill)
        steps[one] = Fill(copy=evolve(first.copy, source=second.copy.source))
        steps[other] = Fill(copy=evolve(second.copy, source=first.copy.source))

    assert faults(resident, swapped) == {"wrong-operand"}


def test_a_step_that_writes_a_resident_is_found(resident: CompiledModel) -> None:
    buffers = {buffer.name: buffer for buffer in resident.plan.buffers}
    kept = {b.memory: b for b in buffers.values() if b.kind is BufferKind.RESIDENT}

    def overwritten(steps: list[Step]) -> None:
        for number, step in enumerate(steps):
            if isinstance(step, Copy) and buffers[step.target.of].memory in kept:
                place = kept[buffers[step.target.of].memory]
                part = Slice(of=place.name, offset=0, row_bytes=8)
                source = Slice(of=step.source.of, offset=0, row_bytes=8)
                steps[number] = evolve(step, source=source, target=part)
                return

    assert "resident-written" in faults(resident, overwritten)


def test_a_call_that_writes_a_resident_is_found(resident: CompiledModel) -> None:
    names = {b.name for b in resident.plan.buffers if b.kind is BufferKind.RESIDENT}

    def overwritten(steps: list[Step]) -> None:
        for number, step in enumerate(steps):
            if isinstance(step, Dispatch) and names & {operand.of for operand in step.operands}:
                operands = tuple(evolve(o, access="rw") if o.of in names else o for o in step.operands)
                steps[number] = evolve(step, operands=operands)
                return

    assert "resident-written" in faults(resident, overwritten)
