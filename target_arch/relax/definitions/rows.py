"""Operators on the rows of a tensor, along its last dimension."""

from collections.abc import Callable, Mapping

from target_arch.plan.model import Model, Operator
from target_arch.relax.te.definition import Definition

DEFINITIONS: Mapping[str, Callable[[Operator, Model], Definition]] = {}
