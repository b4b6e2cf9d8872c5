"""The result of comparing a model with its reference, as manifests keep it."""

from typing import Annotated

from attrs import field, frozen

from target_arch.soc.schema.records import WHERE_THERE


@frozen(kw_only=True)
class LayerEntry:
    """An operator over all frames, on the reference's own inputs of it.

    The numbers of `elements`, `differ` and `wrong` are 0 where the reference has no such tensor.
    """

    operator: Annotated[str, "its id"]
    kind: str
    on: Annotated[str, "the instance that computes it"]
    location: Annotated[str, "its name in the model file"]
    tensor: Annotated[str, "its output in the model file; empty where the reference has no such tensor"]
    elements: Annotated[int, "how many were compared"]
    differ: Annotated[int, "those that are not equal to the reference's"]
    largest: Annotated[float, "the largest difference of one element, in steps"]
    allowed: Annotated[
        float | None,
        "the largest difference that passes; null where exact arithmetic judges alone, since an input is"
        " not the reference's",
    ]
    wrong: Annotated[int, "elements that are farther off"]
    exact: Annotated[str, "`equal` to exact arithmetic or `WRONG`; empty where there is no verdict"]
    first_wrong: Annotated[str, "the first wrong element, of either comparison"]
    passed: bool = field(init=False)

    @passed.default
    def _passed(self) -> bool:
        return not self.wrong and self.exact != "WRONG"


@frozen(kw_only=True)
class LayersEntry:
    """Every operator of a model, each on the reference's own inputs of it."""

    reference: str
    seed: int
    frames: int
    layers: tuple[LayerEntry, ...]
    unlike: Annotated[int, "frames whose ordinary run has other outputs than the steps one by one"]
    passed: bool = field(init=False)

    @passed.default
    def _passed(self) -> bool:
        return not self.unlike and all(layer.passed for layer in self.layers)


@frozen(kw_only=True)
class FloatsEntry:
    """Of the outputs that are floats without a step in a model of integers."""

    largest: Annotated[float, "the largest difference of one element"]
    allowed: Annotated[float, "the largest difference that the rule of floats allows"]
    relative: Annotated[float, "the part of an element's magnitude by which it may differ besides"]


@frozen(kw_only=True)
class ExpectedEntry:
    """The comparison with outputs that are recorded beside the inputs."""

    outputs: Annotated[int, "output tensors compared"]
    equal: Annotated[int, "those that agree in every bit"]
    largest: Annotated[float, "the largest difference of one element, in steps as those of the reference"]
    of_reference: Annotated[float, "the largest difference of the reference from them, likewise"]
    wrong: Annotated[int, "elements that break the rule"] = 0
    first_wrong: Annotated[str, "the first of them, both values, and the rule that it breaks"] = ""


@frozen(kw_only=True)
class AccuracyEntry:
    """How often the class that the first output names is the label of a frame."""

    frames: Annotated[int, "frames with a label"]
    right: Annotated[int, "those whose label the model finds"]
    of_reference: Annotated[int, "those whose label the reference finds"]


@frozen(kw_only=True)
class VerificationEntry:
    """The comparison of a model with its reference."""

    reference: Annotated[str, "the implementation that outputs were compared with"]
    rule: Annotated[str, "how close outputs have to be"]
    seed: Annotated[int, "of the random inputs"]
    frames: Annotated[int, "how many inputs there were"]
    recorded: Annotated[bool, "whether the inputs were the caller's, not random"] = False
    outputs: Annotated[int, "output tensors compared"]
    equal: Annotated[int, "those that agree in every bit"]
    equal_to: Annotated[str, "the mode of the reference that `equal` counts for; empty if there is only one"]
    largest: Annotated[
        float,
        "the largest difference of one element, in quantization steps of the output (1 for float models)",
    ]
    allowed: Annotated[float, "the largest difference that the rule allows, likewise"]
    relative: Annotated[
        float, "the part of an element's magnitude by which it may differ besides; 0 where steps are counted"
    ] = 0.0
    floats: Annotated[
        FloatsEntry | None,
        "of floats beside integers, whose differences `largest` and `allowed` then leave out; null elsewhere",
    ] = None
    wrong: Annotated[int, "elements that break the rule"] = 0
    first_wrong: Annotated[str, "the first of them, both values, and the rule that it breaks"] = ""
    expected: Annotated[ExpectedEntry | None, "where outputs are recorded beside inputs", WHERE_THERE] = None
    accuracy: Annotated[AccuracyEntry | None, "where frames have labels", WHERE_THERE] = None
    self_test: Annotated[str, "`passed`, `failed` or `absent`"]
    layers: Annotated[LayersEntry | None, "every operator by itself; null where they were not compared"] = (
        None
    )
    in_flight: Annotated[
        int | None,
        "the frames whose outputs were those of runs, bit for bit, while others were [in flight](frames.md); "
        "missing where there are no frames in flight",
        WHERE_THERE,
    ] = None
    passed: bool = field(init=False)

    @passed.default
    def _passed(self) -> bool:
        by_operator = self.layers is None or self.layers.passed
        alike = self.in_flight in (None, self.frames)
        met = self.expected is None or not self.expected.wrong
        return not self.wrong and by_operator and alike and met and self.self_test != "failed"
