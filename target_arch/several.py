"""Several models on one chip, in one bundle: the way of `pipeline`, once for each model.

Models are planned in their order, each with what the others leave. Who does not fit makes those before it
plan again with less; then what all of them take is laid out together and checked.
"""

from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve, field, frozen

from target_arch.diagnostics import Diagnostic, DiagnosticError, Note, name_hint
from target_arch.emit.build.libraries import libraries
from target_arch.emit.manifest import models_manifest
from target_arch.emit.several.bundle import emit_models
from target_arch.emit.text.names import identifier
from target_arch.pipeline import (
    Compilation,
    CompileRequest,
    Planned,
    Prepared,
    available,
    compilation,
    emit_inputs,
    manifest_of,
    plan,
    prepare,
)
from target_arch.plan.bundle import Bundle
from target_arch.plan.memory import MemoryPlan
from target_arch.plan.model_pools import ModelPools, Sharing, sharing
from target_arch.soc.model import SoC
from target_arch.stages.check.models import check_models
from target_arch.stages.errors import DoesNotFitError, PlacementError
from target_arch.stages.memory.model_pools import crowded, held, left, model_pools

ROUNDS = 4
"""How often models are planned again because another one needs what they took."""


@frozen(kw_only=True)
class ModelsRequest:
    """Models for one SoC, in the order in which they are planned. `arenas` is `shared` or `separate`, see
    `plan.model_pools`; `name` is the bundle's, by default `<soc>_models`.

    The models differ in file and name, and may in `require`, `prefer` and `forbid`, `costs`, `images` and the
    like; SoC, memory mode and port are the same for all.
    """

    models: tuple[CompileRequest, ...]
    arenas: Sharing = field(default=Sharing.SHARED, converter=sharing)
    name: str | None = None


@frozen(kw_only=True)
class ModelsCompilation:
    """The compilation of every model (the bundle of each is that of all), and their memory together."""

    request: ModelsRequest
    models: tuple[Compilation, ...]
    pools: ModelPools
    manifest: Mapping[str, object] = field(repr=False)
    bundle: Bundle = field(repr=False)


def compile_models(request: ModelsRequest) -> ModelsCompilation:
    """From model files and a SoC to one bundle. Every refusal is a DiagnosticError, and names the model."""
    name = _checked(request)
    prepared = tuple(prepare(each) for each in request.models)
    planned = _planned(prepared, request.arenas)
    soc = request.models[0].soc
    plans = {each.prepared.model.name: each.lowered.plan for each in planned}
    pools = model_pools(soc, plans, request.arenas)
    check_models(available(request.models[0]), pools, plans)
    facts = [manifest_of(each) for each in planned]
    inputs = [emit_inputs(each, fact) for each, fact in zip(planned, facts, strict=True)]
    kernels = {f"{n}.{id}": kernel for n, each in enumerate(inputs) for id, kernel in each.kernels.items()}
    manifest = models_manifest(name, facts, pools, libraries(kernels))
    bundle = emit_models(name, inputs, pools, manifest)
    models = tuple(compilation(each, fact, bundle) for each, fact in zip(planned, facts, strict=True))
    return ModelsCompilation(request=request, models=models, pools=pools, manifest=manifest, bundle=bundle)


def _checked(request: ModelsRequest) -> str:
    """The bundle's name. Raises DiagnosticError with everything that is wrong with the question."""
    faults = []
    if not isinstance(request.arenas, Sharing):
        hint = name_hint(request.arenas, Sharing, "there are")
        faults.append(("unknown-arenas", f"arenas cannot be `{request.arenas}`", hint))
    seen: dict[str, CompileRequest] = {}
    for each in request.models:
        other = seen.setdefault(identifier(_name(each)).upper(), each)
        if other is not each:
            message = (
                f"`{other.model_path.name}` and `{each.model_path.name}` are both called "
                f"`{identifier(_name(each))}` in C"
            )
            faults.append(("same-name", message, "name one of them anew: `NAME=FILE`"))
    name = request.name or f"{request.models[0].soc.name}_models"
    owner = seen.get(identifier(name).upper())
    if owner is not None:
        message = f"the bundle and `{owner.model_path.name}` are both called `{identifier(name)}` in C"
        faults.append(("same-name", message, "give the bundle another name: `--name NAME`"))
    if faults:
        raise DiagnosticError(
            Diagnostic(rule=rule, place="command line", message=message, hint=hint)
            for rule, message, hint in faults
        )
    return name


def _name(request: CompileRequest) -> str:
    return request.name or request.model_path.stem


def _planned(prepared: Sequence[Prepared], arenas: Sharing) -> tuple[Planned, ...]:
    try:
        return _Chip(prepared, arenas).planned()
    except DoesNotFitError as refusal:
        if arenas == Sharing.SEPARATE and _fits(prepared, Sharing.SHARED):
            raise _advised(refusal, "`--arenas shared`, where the models run in turn") from None
        raise


def _fits(prepared: Sequence[Prepared], arenas: Sharing) -> bool:
    try:
        _Chip(prepared, arenas).planned()
    except DiagnosticError:
        return False
    return True


def _advised(refusal: DoesNotFitError, way: str) -> DoesNotFitError:
    """The refusal with one more way out."""
    (found,) = refusal.diagnostics
    known = "" if found.hint is None or found.hint.startswith("no single change") else f"{found.hint}, or "
    return refusal.advised(f"{known}{way}")


class _Chip:
    """The plans that were made so far, and what each model was asked to leave beyond what others take."""

    def __init__(self, prepared: Sequence[Prepared], arenas: Sharing) -> None:
        self._prepared, self._arenas = prepared, arenas
        self._soc: SoC = prepared[0].request.soc
        self._room = available(prepared[0].request)
        self._done: dict[int, Planned] = {}
        self._asked: dict[int, dict[str, int]] = {number: {} for number in range(len(prepared))}

    def planned(self) -> tuple[Planned, ...]:
        """A plan for every model, such that all fit. Raises DiagnosticError, which names the model."""
        for number in range(len(self._prepared)):
            self._plan(number)
        for _ in range(ROUNDS):
            over = self._overfull()
            if not over:
                return tuple(self._done[number] for number in range(len(self._prepared)))
            for number in range(len(self._prepared)):
                if crowded(self._room, self._plan_of(number), self._taken(number)):
                    self._plan(number)
            for memory, missing in self._overfull().items():
                self._ask(range(len(self._prepared)), memory, missing)
        raise self._refusal()

    def _plan(self, number: int) -> None:
        """Plan a model with what the others leave; where that is too little, these are asked for more."""
        for _ in range(ROUNDS):
            try:
                self._done[number] = self._tried(number)
                return
            except (DoesNotFitError, PlacementError) as refusal:
                others = [other for other in self._done if other != number]
                wishes = self._wishes(number, refusal)
                if not any(self._ask(others, memory, missing) for memory, missing in wishes):
                    raise self._noted(refusal, number) from None
        raise self._refusal()

    def _wishes(self, number: int, refusal: DoesNotFitError | PlacementError) -> list[tuple[str, int]]:
        """By which bytes of which memory others are in the way: what is missing, or half of what they take
        where a backend refuses and does not say.
        """
        if isinstance(refusal, DoesNotFitError):
            return [(refusal.memory, refusal.needed - refusal.available)]
        return [(memory, size // 2) for memory, size in sorted(self._taken(number).items()) if size > 1]

    def _noted(self, refusal: DoesNotFitError | PlacementError, number: int) -> DiagnosticError:
        """The refusal with its model, and what each of the others takes of that memory."""
        if isinstance(refusal, PlacementError):
            return _named(refusal, self._prepared[number])
        memory = refusal.memory
        taken = {
            self._prepared[other].model.name: held(self._soc, (self._plan_of(other),), self._arenas)
            for other in sorted(self._done)
            if other != number
        }
        notes = tuple(
            Note(place=f"model {name}", message=f"takes {sizes[memory]:,} B of `{memory}`")
            for name, sizes in taken.items()
            if sizes.get(memory)
        )
        return _named(refusal.noted(notes), self._prepared[number])

    def _tried(self, number: int) -> Planned:
        taken = self._taken(number)
        for memory, size in self._asked[number].items():
            taken[memory] = taken.get(memory, 0) + size
        try:
            return plan(self._prepared[number], left(self._soc, taken) if taken else None)
        except (DoesNotFitError, PlacementError):
            raise
        except DiagnosticError as error:
            raise _named(error, self._prepared[number]) from None

    def _ask(self, others: Iterable[int], memory: str, missing: int) -> bool:
        """Plan others again with so much less of a memory, until they take less of it. False where none
        does.
        """
        for other in others:
            before = self._done[other], self._asked[other].get(memory, 0)
            self._asked[other][memory] = before[1] + missing
            try:
                made = self._tried(other)
            except DiagnosticError:
                made = before[0]
            if self._weight(made, memory) < self._weight(before[0], memory):
                self._done[other] = made
                return True
            self._asked[other][memory] = before[1]
        return False

    def _weight(self, made: Planned, memory: str) -> int:
        return held(self._soc, (made.lowered.plan,), Sharing.SEPARATE).get(memory, 0)

    def _plan_of(self, number: int) -> MemoryPlan:
        return self._done[number].lowered.plan

    def _taken(self, number: int) -> dict[str, int]:
        others = [self._plan_of(other) for other in sorted(self._done) if other != number]
        return held(self._soc, others, self._arenas)

    def _pools(self) -> ModelPools:
        plans = {self._prepared[n].model.name: self._plan_of(n) for n in sorted(self._done)}
        return model_pools(self._room, plans, self._arenas)

    def _overfull(self) -> dict[str, int]:
        """By memory how many bytes all models together take too much."""
        used: dict[str, int] = {}
        for pool in self._pools().pools:
            used[pool.memory] = used.get(pool.memory, 0) + pool.bytes
        sizes = {memory.name: memory.size for memory in self._room.memories}
        return {
            memory: used[memory] - sizes[memory] for memory in sorted(used) if used[memory] > sizes[memory]
        }

    def _refusal(self) -> DoesNotFitError:
        """What to say where planning again did not help."""
        over, pools = self._overfull(), self._pools()
        memory = min(over) if over else self._room.memories[0].name
        size = self._room.memory(memory).size
        takers = tuple(
            (f"{name} in {pool.pool}", pool.peaks[number])
            for pool in pools.pools
            for number, name in enumerate(pools.models)
            if pool.memory == memory and pool.peaks[number]
        )
        needed = size + over.get(memory, 0)
        error = DoesNotFitError(
            pool=memory, step=0, needed=needed, available=size, bound=needed, alive=takers
        )
        return error.at("memory of all models")


def _named(error: DoesNotFitError | DiagnosticError, prepared: Prepared) -> DiagnosticError:
    """The error with the model in the place of every diagnostic that has no place in a file."""
    if isinstance(error, DoesNotFitError):
        return error.at(f"model {prepared.model.name}, {error.place}")
    return type(error)(
        evolve(each, place=f"model {prepared.model.name}, {each.place}")
        if isinstance(each.place, str)
        else each
        for each in error.diagnostics
    )
