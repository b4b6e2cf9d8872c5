"""Random chips and models, to hold one model of time against another."""

from random import Random

from attrs import evolve

from conformance.graphs import layered, random_graph, series_parallel
from target_arch.backend.contract import Backend, Question
from target_arch.plan.model import Model, Tensor
from target_arch.soc.model import CopyPath, SoC
from tests.stages import chips

SHAPES = (layered, random_graph, series_parallel)


def chip(random: Random) -> SoC:
    """One of the small chips with other engines: their channels, bandwidths and set-up times."""
    base = random.choice((chips.EDGE, chips.quad()))
    speed, setup = random.choice((0.1, 1, 10)), random.choice((0.1, 1, 5))

    def path(given: CopyPath) -> CopyPath:
        bandwidth = given.bandwidth and given.bandwidth * speed * random.uniform(0.5, 2)
        return evolve(given, bandwidth=bandwidth, setup=given.setup * setup)

    room = 1024
    return evolve(
        base,
        copies=tuple(path(each) for each in base.copies),
        dmas=tuple(evolve(dma, channels=random.randint(1, 4)) for dma in base.dmas),
        memories=tuple(evolve(memory, size=memory.size * room) for memory in base.memories),
    )


def model(random: Random, most: int = 12) -> Model:
    """A graph of up to `most` operators whose tensors have 64 B to 8 KiB; some have constants."""
    made = random.choice(SHAPES)(random.randint(2, most))
    tensors = {
        name: Tensor(name=name, shape=(64 << random.randint(0, 7),), dtype="int8") for name in made.tensors
    }
    operators = []
    for operator in made.operators:
        constants = (f"{operator.id}.w",) if operator.kind in ("conv", "dense") else ()
        tensors |= {name: chips.tensor(name, 64 << random.randint(0, 6), constant=True) for name in constants}
        operators.append(evolve(operator, constants=constants))
    return evolve(made, tensors=tensors, operators=tuple(operators))


def backends(random: Random) -> dict[str, Backend]:
    """Those of the small chips, each with a speed and operators that take up to four times as long as
    others.
    """
    speeds = {name: base * random.choice((0.2, 1, 5)) for name, base in chips.SPEED.items()}
    factors: dict[str, float] = {}

    def cost(question: Question) -> float:
        factor = factors.setdefault(question.operator.id, random.uniform(0.5, 2))
        return speeds[question.instance.arch.name] * factor

    return {name: evolve(backend, cost=cost) for name, backend in chips.BACKENDS.items()}
