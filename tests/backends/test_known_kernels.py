"""Kernels of engines that are written again only where what they follow from has changed."""

from attrs import evolve

from target_arch.backends.known_kernels import known_kernel
from target_arch.plan.kernels import Kernel
from tests.backends.conv2d_engine.test_conv2d_engine_kernels import convolution
from tests.backends.engines import bench

REQUEST = bench("conv2d_engine", {"bram": 4096}).request(
    convolution((16, 16, 4, 16, (3, 3), (1, 1), (1, 1, 1, 1)))
)


def kernel() -> Kernel:
    return Kernel(partition=REQUEST.partition.id, instance=REQUEST.instance.name)


def test_the_last_kernel_of_a_partition_is_kept_and_no_other() -> None:
    request = evolve(REQUEST, shared={})
    first = known_kernel(request, "a", kernel)
    assert known_kernel(request, "a", kernel) is first
    other = known_kernel(request, "b", kernel)
    assert other is not first
    assert known_kernel(request, "b", kernel) is other
    assert known_kernel(request, "a", kernel) is not first
    assert len(request.shared) == 1


def test_partitions_with_other_operators_have_other_kernels() -> None:
    request = evolve(REQUEST, shared={})
    (operator,) = request.partition.operators
    fewer = evolve(request.partition, operators=(evolve(operator, id="another"),))
    assert known_kernel(request, "a", kernel) is not known_kernel(
        evolve(request, partition=fewer), "a", kernel
    )
