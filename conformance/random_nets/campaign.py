"""Groups of random models: one chip and one bundle each."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import onnx
from attrs import field, frozen

from conformance.random_nets.chips import chip
from conformance.random_nets.nets import net
from target_arch.diagnostics import DiagnosticError
from target_arch.pipeline import CompileRequest, ModelsCompilation, ModelsRequest, compile_models
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
    from the reference, or an exception.
    """

    tried: int = 0
    refused: dict[int, str] = field(factory=dict)
    wrong: dict[int, str] = field(factory=dict)

    def __add__(self, other: "Result") -> "Result":
        return Result(
            tried=self.tried + other.tried,
            refused=self.refused | other.refused,
            wrong=self.wrong | other.wrong,
        )


def group(numbers: Sequence[int], folder: Path) -> Result:
    """Try these models on the chip of their group. Where all of them are refused together or something is
    wrong, each is tried alone, so that the fault has one model.
    """
    soc, files = chip(numbers[0] // GROUP), {}
    for number in numbers:
        files[number] = folder / f"n{number}.onnx"
        onnx.save(net(number), files[number])
    found = _tried(soc, files, folder / "bundle")
    if len(numbers) == 1 or not (found.refused or found.wrong):
        return found
    alone = (_tried(soc, {number: files[number]}, folder / f"b{number}") for number in numbers)
    return sum(alone, Result())


def _tried(soc: SoC, files: dict[int, Path], place: Path) -> Result:
    """A refusal is one of the compiler; what is said of its bundle is a finding."""
    number, requests = next(iter(files)), tuple(_request(*each, soc) for each in files.items())
    try:
        made = compile_models(ModelsRequest(models=requests))
    except DiagnosticError as error:
        return Result(tried=len(files), refused={number: error.diagnostics[0].rule})
    except Exception as error:  # whatever it is, it is a finding
        return Result(tried=len(files), wrong={number: f"{type(error).__name__}: {error}"})
    try:
        return Result(tried=len(files), wrong=_differences(made, files, place))
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


def _request(number: int, model: Path, soc: SoC) -> CompileRequest:
    """The same number is the same request: one target_arch beside the host, and how memory is planned."""
    planner = Planner(algorithm=_PLANNERS[number // GROUP % len(_PLANNERS)])
    if number % _SEARCHED == 0:
        return CompileRequest(model_path=model, soc=soc, planner=planner)
    chosen = Random(number).choice(soc.archs).name
    return CompileRequest(model_path=model, soc=soc, planner=planner, targets=(chosen,), prefer={"*": chosen})
