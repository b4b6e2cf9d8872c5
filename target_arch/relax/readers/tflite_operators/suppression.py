"""NON_MAX_SUPPRESSION_V4 and V5: of boxes that overlap, the best ones, as many as a number says at most."""

from collections.abc import Mapping
from typing import Any

from tvm import relax

from target_arch.relax.loops.suppression import SofterBoxes
from target_arch.relax.readers.tflite_operators.site import Converter, TFLiteOperator
from target_arch.relax.site import NotConverted


def hard(site: TFLiteOperator) -> list[Any]:
    """The numbers of boxes, and how many there are."""
    indices, _, count = _chosen(site, 0.0)
    return [indices, count]


def soft(site: TFLiteOperator) -> list[Any]:
    """The numbers of boxes, their scores, which others that overlap may have lowered, and how many there
    are.
    """
    sigma = float(site.tensor(5).constant.reshape(-1)[0])
    if sigma < 0:
        raise NotConverted("its `sigma` is negative")
    return list(_chosen(site, sigma))


def _chosen(site: TFLiteOperator, sigma: float) -> tuple[Any, Any, Any]:
    anchors, most = site.shape(0)[0], int(site.tensor(2).constant.reshape(-1)[0])
    if most < 1:
        raise NotConverted("its result has no elements")
    kernel = SofterBoxes(anchors=anchors, most=most, sigma=sigma)
    limits = (site.reshaped(site.operand(index), (1,)) for index in (3, 4))
    whole = site.written((2 * most + 1,), "float32", kernel.write, site.operand(0), site.operand(1), *limits)

    def part(first: int, end: int) -> Any:
        return site.emit(relax.op.strided_slice(whole, [0], [first], [end]))

    indices = site.cast(part(0, most), "int32")
    count = site.reshaped(site.cast(part(2 * most, 2 * most + 1), "int32"), ())
    return indices, part(most, 2 * most), count


CONVERTERS: Mapping[str, Converter] = {"NON_MAX_SUPPRESSION_V4": hard, "NON_MAX_SUPPRESSION_V5": soft}
