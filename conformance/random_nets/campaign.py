"""Groups of random models: one chip and one bundle each."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import onnx
from attrs import field, frozen

from conformance.random_nets.chips import chip
from conformance.random_nets.nets import net
from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, ModelsCompilation, ModelsRequest, compile_models
from target_arch.plan.division import Divide
from target_arch.run.bundles.write import write_bundle
from target_arch.run.verification.verify import OperatorCheck, verify_models
from target_arch.soc.model import SoC
from target_arch.stages.memory.planner import Planner

GROUP = 20
"""Models of one bundle."""
FRAMES = 2
_SEARCHED = 4
"""One model of so many is placed by the search, which takes most of the time of a compilation."""
_OPTIMIZE = ("-O0", "-O2")
_PLANNERS = ("by-size", "by-area", "by-conflicts", "by-time", "best")


@frozen(kw_only=True)
class Result:
    """What became of models, by number: `refused` with the rule, `wrong` with what was wrong: a difference
    from the reference, or an exception. `divided` is how many have operators in slices.
    """

    tried: int = 0
    refused: dict[int, str] = field(factory=dict)
    wrong: dict[int, str] = field(factory=dict)
    divided: int = 0

    def __add__(self, other: "Result") -> "Result":
        return Result(
            tried=self.tried + other.tried,
            refused=self.refused | other.refused,
            wrong=self.wrong | other.wrong,
            divided=self.divided + other.divided,
        )


def group(numbers: Sequence[int], folder: Path, divide: Divide = Divide.NEVER) -> Result:
    """Try these models on the chip of their group, their operators divided where that is asked for. Where all
    of them are refused together or something is wrong, each is tried alone, so that the fault has one model.
    """
    soc, files = chip(numbers[0] // GROUP), {}
    for number in numbers:
        files[number] = folder / f"n{number}.onnx"
        onnx.save(net(number), files[number])
    found = _tried(soc, files, folder / "bundle", divide)
    if len(numbers) == 1 or not (found.refused or found.wrong):
        return found
    alone = (_tried(soc, {number: files[number]}, folder / f"b{number}", divide) for number in numbers)
    return sum(alone, Result())


def _tried(soc: SoC, files: dict[int, Path], place: Path, divide: Divide) -> Result:
    """A refusal is one of the compiler; what is said of its bundle is a finding."""
    number, requests = next(iter(files)), tuple(_request(*each, soc, divide) for each in files.items())
    try:
        made = compile_models(ModelsRequest(models=requests))
    except DiagnosticError as error:
        return Result(tried=len(files), refused={number: error.diagnostics[0].rule})
    except Exception as error:  # whatever it is, it is a finding
        return Result(tried=len(files), wrong={number: f"{type(error).__name__}: {error}"})
    try:
        divided = sum(bool(each.model.slices) for each in made.models)
        slower = dict(_slower(made, files))
        return Result(tried=len(files), wrong=_differences(made, files, place) | slower, divided=divided)
    except Exception as error:  # whatever it is, it is a finding
        return Result(tried=len(files), wrong={number: f"{type(error).__name__}: {error}"})


def _differences(made: ModelsCompilation, files: dict[int, Path], place: Path) -> dict[int, str]:
    write_bundle(made.models[0].bundle, place)
    (one, *others) = made.models
    names = {path.stem: path for path in files.values()}
    optimize = _OPTIMIZE[min(files) // GROUP % len(_OPTIMIZE)]
    operators = None if others else OperatorCheck(planned=one)
    found = verify_models(names, place, count=FRAMES, record=False, operators=operators, optimize=optimize)
    passed = dict(zip(files, found.values(), strict=True))
    return {number: str(each) for number, each in passed.items() if not each.passed}


def _slower(made: ModelsCompilation, files: dict[int, Path]) -> Iterator[tuple[int, str]]:
    """Models whose simulated run is slower divided than undivided."""
    for number, each in zip(files, made.models, strict=True):
        run = each.execution
        if run is not None and run.undivided and run.makespan > run.undivided:
            yield number, f"it takes {run.makespan} s divided, {run.undivided} s undivided"


def _request(number: int, model: Path, soc: SoC, divide: Divide) -> CompileRequest:
    """The same number is the same request: one target_arch beside the host, and how memory is planned."""
    planner = Planner(algorithm=_PLANNERS[number // GROUP % len(_PLANNERS)])
    if number % _SEARCHED == 0:
        return CompileRequest(model_path=model, soc=soc, planner=planner, divide=divide)
    chosen = Random(number).choice(soc.archs).name
    return CompileRequest(
        model_path=model,
        soc=soc,
        planner=planner,
        targets=(chosen,),
        prefer={"*": chosen},
        divide=divide,
    )
