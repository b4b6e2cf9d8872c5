"""Convolution2DTransposeBias: MediaPipe's transposed convolution, from before TFLite's had a bias."""

from typing import Any

from target_arch.relax.readers.tflite_operators.custom.transposed_options import transposed_options
from target_arch.relax.readers.tflite_operators.products import transposed
from target_arch.relax.readers.tflite_operators.site import TFLiteOperator
from target_arch.relax.site import NotConverted


def transposed_convolution(site: TFLiteOperator) -> Any:
    """The convolution, of floats."""
    options = transposed_options(site.custom_bytes)
    if options is None:
        raise NotConverted("its options are damaged")
    if site.x.dtype != "float32":
        raise NotConverted(f"values of type {site.x.dtype}")
    weight = site.tensor(1)
    image, kernel = site.x.shape[1:3], weight.shape[1:3]
    reach = (
        (0, 0)
        if options.same
        else tuple(size - step for size, step in zip(kernel, options.strides, strict=True))
    )
    extents = tuple(n * step + more for n, step, more in zip(image, options.strides, reach, strict=True))
    if site.out.shape[1:3] != extents:
        raise NotConverted(f"an output of {site.out.shape} where its options make {extents}")
    return transposed(site, site.x, weight, 2, options.same, options.strides)
