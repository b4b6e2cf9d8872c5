"""GridSample: images and volumes read at computed places between their pixels."""

from collections.abc import Mapping
from typing import Any

from tvm import relax

from target_arch.relax.ir.graph import dtype_of, shape_of
from target_arch.relax.loops.sampling import Interpolation, Outside, Sampling
from target_arch.relax.onnx_operators.node import Converter, Node, converter
from target_arch.relax.site import NotConverted, Site

OPERATOR = "GridSample"
_MODES = {
    "nearest": Interpolation.NEAREST,
    "linear": Interpolation.LINEAR,
    "bilinear": Interpolation.LINEAR,
    "cubic": Interpolation.CUBIC,
    "bicubic": Interpolation.CUBIC,
}


def _grid_sample(node: Node) -> Any:
    """As onnxruntime, which rounds a place to the nearest pixel before it looks what is there."""
    return sampled(
        node,
        node.operand(0),
        node.operand(1),
        interpolation=_MODES[node.text("mode", "linear", tuple(_MODES))],
        outside=Outside(node.text("padding_mode", "zeros", tuple(Outside))),
        corners=bool(node.integer("align_corners", 0)),
        rounds_first=True,
    )


def sampled(site: Site, image: Any, grid: Any, **rules: Any) -> Any:
    """An image [N, C, …] at the places of a grid [N, …, dimensions], by `rules` of `Sampling`. Channels are
    innermost there, as images are held: transposes move nothing then.
    """
    dtype, shape = dtype_of(image), shape_of(image)
    rank = len(shape) - 2
    if dtype not in ("float16", "float32", "float64") or not dtype_of(grid).startswith("float"):
        raise NotConverted(f"its elements are {dtype} and {dtype_of(grid)}")
    if rank < 1 or len(shape_of(grid)) != rank + 2:
        raise NotConverted(f"an image with {len(shape)} dimensions and a grid with {len(shape_of(grid))}")
    real = "float64" if "float64" in (dtype, dtype_of(grid)) else "float32"
    last = (0, *range(2, rank + 2), 1)
    x = site.emit(relax.op.permute_dims(site.cast(image, real), last))
    sampling = Sampling(sizes=shape[2:], dtype=real, **rules)
    out = (*shape_of(grid)[:-1], shape[1])
    found = site.written(out, real, sampling.write, x, site.cast(grid, real), name=OPERATOR)
    return site.cast(site.emit(relax.op.permute_dims(found, (0, rank + 1, *range(1, rank + 1)))), dtype)


CONVERTERS: Mapping[str, Converter] = {OPERATOR: converter(_grid_sample, "align_corners mode padding_mode")}
