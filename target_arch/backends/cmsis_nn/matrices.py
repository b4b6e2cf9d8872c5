"""The C function for products of two activations: the library takes the second matrix transposed."""

from target_arch.backends.cmsis_nn.calls import LibraryCall, c_function, wrapped
from target_arch.backends.cmsis_nn.host import MATRICES, HostLibrary
from target_arch.backends.plain_c.kernels.matrices import sizes
from target_arch.plan.arithmetic import requantization
from target_arch.plan.model import Model, Operator
from target_arch.plan.operators.kinds import OperatorKind


def matrices_call(operator: Operator, model: Model, library: HostLibrary, core: str) -> LibraryCall:
    """The call that computes a product of two activations that `support.library_refusal` accepts. Scratch has
    the library's context, and a transposed matrix behind it.
    """
    count, rows, depth, columns = sizes(operator, model)
    needed = library.scratch(OperatorKind.DENSE, (*(0,) * 11, depth, 1, 1, columns, *(0,) * 4), core)
    r = requantization(operator, model)
    offsets = f"{r.input_offset}, {r.second_offset}, {r.output_offset}"
    limits = f"{{{r.activation_min}, {r.activation_max}}}"
    call = f"status = {MATRICES}(&context, &parameters, &scaling, &left, a, &right, columns, &output, out);"
    lines = (
        f"const cmsis_nn_context context = {{{'scratch' if needed else 'NULL'}, {needed}}};",
        f"const cmsis_nn_bmm_params parameters = {{0, 0, {{{offsets}, {limits}}}}};",
        f"const cmsis_nn_per_tensor_quant_params scaling = {{{r.multipliers[0]}, {r.shifts[0]}}};",
        f"const cmsis_nn_dims left = {{1, 1, {rows}, {depth}}};",
        f"const cmsis_nn_dims right = {{1, 1, {columns}, {depth}}};",
        f"const cmsis_nn_dims output = {{1, 1, {rows}, {columns}}};",
        f"int8_t *columns = (int8_t *)scratch + {needed};",
        "int status = 0;",
        f"for (int32_t m = 0; m < {count} && status == 0; ++m) {{",
        f"    for (int32_t k = 0; k < {depth}; ++k) {{",
        f"        for (int32_t n = 0; n < {columns}; ++n) {{",
        f"            columns[n * {depth} + k] = b[k * {columns} + n];",
        "        }",
        "    }",
        *(f"    {line}" for line in wrapped(call, 4)),
        f"    a += {rows * depth};",
        f"    b += {depth * columns};",
        f"    out += {rows * columns};",
        "}",
        "return status;",
    )
    names = (
        ("const int8_t *", "a"),
        ("const int8_t *", "b"),
        ("int8_t *", "out"),
        ("uint8_t *", "scratch"),
    )
    shapes = f"a {[count, rows, depth]}, b {[count, depth, columns]}"
    function = c_function(operator.kind, names, lines, shapes)
    return LibraryCall(function=function, packed=(), scratch=needed + depth * columns)
