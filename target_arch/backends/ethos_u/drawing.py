"""A graph of TFLite while operators of the plan are written into it."""

from collections.abc import Sequence

from attrs import evolve, field, mutable

from target_arch.backends.ethos_u.tflite_file import SubgraphOperator
from target_arch.plan.model import Model, Tensor

_INT32_BYTES = 4


class Unwritable(Exception):
    """An operator has no form in TFLite; the text is the reason, as `supports` gives it."""


@mutable
class Drawing:
    """The graph so far. `tables` has, for what Vela makes of a function, the table that it stands for."""

    model: Model
    tensors: dict[str, Tensor] = field(factory=dict)
    nodes: list[SubgraphOperator] = field(factory=list)
    tables: dict[bytes, bytes] = field(factory=dict)

    def tensor(self, name: str) -> str:
        """A tensor of the model, as it is."""
        self.tensors.setdefault(name, self.model.tensors[name])
        return name

    def numbers(self, name: str, values: Sequence[int], shape: tuple[int, ...] | None = None) -> str:
        """A constant of int32, as operators have them for shapes, axes and sizes."""
        data = b"".join(value.to_bytes(_INT32_BYTES, "little", signed=True) for value in values)
        self.tensors[name] = Tensor(name=name, shape=shape or (len(values),), dtype="int32", data=data)
        return name

    def reshaped(self, name: str, shape: tuple[int, ...]) -> str:
        """An activation in another shape, by a RESHAPE where it has another."""
        tensor = self.tensors[self.tensor(name)]
        if tensor.shape == shape:
            return name
        made = f"{name}.as_{'x'.join(map(str, shape))}"
        if made not in self.tensors:
            self.tensors[made] = evolve(tensor, name=made, shape=shape)
            self.reshape(name, made, shape)
        return made

    def reshape(self, source: str, target: str, shape: tuple[int, ...]) -> None:
        """A RESHAPE between two existing tensors."""
        wanted = self.numbers(f"{target}.shape", shape)
        self.nodes.append(
            SubgraphOperator(
                code="RESHAPE", version=1, inputs=(source, wanted), output=target, options="ReshapeOptions"
            )
        )

    def padded(self, name: str, around: tuple[int, int, int, int], reader: str) -> str:
        """An image with zero points around it (top, left, bottom, right), by a PAD for its reader."""
        tensor = self.tensors[self.tensor(name)]
        top, left, bottom, right = around
        images, height, width, channels = tensor.shape
        made = f"{reader}.padded"
        shape = (images, height + top + bottom, width + left + right, channels)
        self.tensors[made] = evolve(tensor, name=made, shape=shape)
        amounts = self.numbers(f"{made}.amounts", (0, 0, top, bottom, left, right, 0, 0), (4, 2))
        self.nodes.append(
            SubgraphOperator(code="PAD", version=2, inputs=(name, amounts), output=made, options="PadOptions")
        )
        return made

    def add(self, operator_output: str, node: SubgraphOperator, shape: tuple[int, ...]) -> None:
        """An operator whose result has this shape in TFLite; its output tensor may have another one."""
        out = self.tensors[self.tensor(operator_output)]
        if out.shape == shape:
            self.nodes.append(node)
            return
        made = f"{operator_output}.made"
        self.tensors[made] = evolve(out, name=made, shape=shape)
        self.nodes.append(evolve(node, output=made))
        self.reshape(made, operator_output, out.shape)
