"""Devices that a Relax module's author puts operators on, by VDevices of tensors, `R.hint_on_device` and
`R.to_vdevice`.

TVM's own pass says which operator is on which device. Then nothing of it is left in the program: where a
tensor is, and what is copied, is decided by the placement, for which the devices are rules.

Tests: `tests/relax/readers/test_virtual_devices.py`.
"""

from pathlib import Path
from typing import Any

import tvm
from tvm import relax, tirx

from target_arch.diagnostics import listed
from target_arch.plan.model import VirtualDevice
from target_arch.relax.ir.bindings import bindings_of
from target_arch.relax.ir.errors import model_error
from target_arch.relax.ir.graph import operator_name
from target_arch.relax.ir.variables import variables_of
from target_arch.soc.model import DLDevice
from target_arch.soc.words import DLDeviceType

_HINT, _COPY = "hint_on_device", "to_vdevice"
_ANYWHERE = "global"
"""The memory scope of a device whose author names no memory."""


def without_devices(path: Path, module: Any) -> tuple[Any, dict[Any, VirtualDevice]]:
    """Return the module without devices in `main`, and the device of each of its expressions and variables
    that had one.

    DiagnosticError for devices that contradict each other, that the module does not list, and of types that
    no SoC can have.
    """
    if not _names_devices(module):
        return module, {}
    stripped = _Stripped(path)
    main = stripped.function(_realized(path, module)["main"])
    functions = {name: _without_target(function) for name, function in module.functions.items()}
    return tvm.IRModule({**functions, module.get_global_var("main"): main}), stripped.devices


def _names_devices(module: Any) -> bool:
    main = module["main"]
    variables = (*main.params, *(each.var for each in bindings_of(main)))
    called = {operator_name(each.value) for each in bindings_of(main)}
    return bool(called & {_HINT, _COPY}) or any(_vdevice(var.ty) is not None for var in variables)


def _vdevice(kind: Any) -> Any | None:
    """The VDevice of a tensor's type, or of the first tensor of a tuple that has one."""
    if isinstance(kind, relax.TupleType):
        return next((one for one in map(_vdevice, kind.fields) if one is not None), None)
    return getattr(kind, "vdevice", None)


def _realized(path: Path, module: Any) -> Any:
    """The module with a device for every tensor that one follows for, from hints and from neighbours."""
    listed_ones = {_key(each) for each in module.global_infos.get("vdevice", ())}
    for binding in bindings_of(module["main"]):
        if operator_name(binding.value) == _HINT and _hinted(binding.value) not in listed_ones:
            code, number, scope = _hinted(binding.value)
            wanted = f"device {code}:{number} and scope `{scope}`"
            message = f"the hint `{binding.var.name}` is for {wanted}, which the module does not list"
            hint = "list it by `I.module_global_infos`, with the device's own number and scope"
            raise model_error("unknown-device", path, message, hint)
    try:
        return relax.transform.RealizeVDevice()(module)
    except ValueError as error:
        said = str(error).strip().splitlines()[-1].strip()
        raise model_error("wrong-device", path, f"its devices contradict each other: {said}") from None


def _key(device: Any) -> tuple[int, int, str]:
    return int(device.target.get_target_device_type()), int(device.vdevice_id), str(device.memory_scope)


def _hinted(call: Any) -> tuple[int, int, str]:
    attributes = call.attrs
    return int(attributes.device_type), int(attributes.index), str(attributes.memory_scope)


def _without_target(function: Any) -> Any:
    """A function of TIR as it is for any device: TVM's legalization writes the one that it is called on."""
    return function.without_attr("target") if isinstance(function, tirx.PrimFunc) else function


class _Stripped:
    """Rebuilds a function without devices; `devices` has them, by the new expressions and variables. What has
    none is where its operands are: TVM's legalization forgets the device of who reads a constant.
    """

    def __init__(self, path: Path) -> None:
        self.devices: dict[Any, VirtualDevice] = {}
        self._path, self._known, self._places = path, dict[Any, Any](), dict[Any, Any]()

    def function(self, function: Any) -> Any:
        """The function without devices."""
        params = [self._variable(var) for var in function.params]
        blocks = [
            type(block)([relax.VarBinding(*self._bound(each)) for each in block.bindings])
            for block in function.body.blocks
        ]
        body = relax.SeqExpr(blocks, self._expression(function.body.body))
        return relax.Function(params, body, _plain(function.ret_ty), attrs=function.attrs)

    def _bound(self, binding: Any) -> tuple[Any, Any]:
        """A variable and its value. A copy to a device is the tensor itself."""
        before, copied = binding.value, operator_name(binding.value) in (_COPY, _HINT)
        value = self._expression(before.args[0] if copied else before)
        var = self._variable(binding.var)
        vdevice = self._places.setdefault(var, self._place_of(value))
        if isinstance(before, relax.Call) and not copied and vdevice is not None:
            self.devices[value] = self.devices[var] = self._device(vdevice)
        return var, value

    def _device(self, vdevice: Any) -> VirtualDevice:
        code, number, scope = _key(vdevice)
        known = {each.code: each for each in DLDeviceType}
        if code not in known:
            kind = str(vdevice.target.kind.name)
            message = f"its VDevice `{kind}:{number}` has device type {code}, which no target_arch can have"
            hint = f"known are {listed(known.values())}"
            raise model_error("unknown-device", self._path, message, hint)
        memory = None if scope in ("", _ANYWHERE) else scope.removeprefix(f"{_ANYWHERE}.")
        return VirtualDevice(device=DLDevice(type=known[code], id=number), memory=memory)

    def _place_of(self, value: Any) -> Any | None:
        """The VDevice of all operands that have one."""
        found = {
            _key(each): each for var in variables_of(value) if (each := self._places.get(var)) is not None
        }
        return next(iter(found.values())) if len(found) == 1 else None

    def _variable(self, var: Any) -> Any:
        self._known[var] = known = type(var)(var.name, _plain(var.ty))
        vdevice = _vdevice(var.ty)
        if vdevice is not None:
            self._places[known] = vdevice
        return known

    def _expression(self, expr: Any) -> Any:
        if isinstance(expr, relax.Var):
            return self._known[expr]
        if isinstance(expr, relax.Tuple):
            return relax.Tuple([self._expression(each) for each in expr.fields])
        if isinstance(expr, relax.TupleGetItem):
            return relax.TupleGetItem(self._expression(expr.tuple_value), expr.index)
        if isinstance(expr, relax.Call):
            arguments = [self._expression(each) for each in expr.args]
            types = [_plain(each) for each in expr.ty_args]
            return relax.BlockBuilder().normalize(relax.Call(expr.op, arguments, expr.attrs, types))
        return expr


def _plain(kind: Any) -> Any:
    """A type without the devices of its tensors."""
    if isinstance(kind, relax.TupleType):
        return relax.TupleType([_plain(each) for each in kind.fields])
    if isinstance(kind, relax.TensorType) and kind.vdevice is not None:
        return relax.TensorType(kind.shape, kind.dtype)
    return kind
