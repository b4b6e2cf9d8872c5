"""A chip as a code generator of TVM: a build of Relax on this computer runs its partitions as bundles do."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from target_arch.api.compilation import compile
from target_arch.api.options import CompileOptions
from target_arch.diagnostics import refusal
from target_arch.relax.tvm_import import import_tvm
from target_arch.soc import SoC

if TYPE_CHECKING:
    from target_arch.relax.external import Run


def register_codegen(
    soc: str | Path | SoC,
    directory: str | Path,
    *,
    codegen: str = "target_arch",
    **options: Unpack[CompileOptions],
) -> str:
    """Register `relax.ext.<codegen>`, and return this name: `relax.transform.RunCodegen` then compiles every
    function with that attribute `Codegen` for the SoC, into a bundle of its name below `directory`, and TVM's
    virtual machine runs it, in a process of its own, on the host port. Partitions of `Compilation.module` go
    to their instances.

    DiagnosticError for a name that is none of C, and inside of `RunCodegen` for every refusal of `compile`.
    """
    if not codegen.isidentifier() or not codegen.isascii():
        text = f"`{codegen}` is no name of a code generator"
        raise refusal("bad-codegen", "codegen", text, "use letters, digits and `_`, a letter first")
    import_tvm()
    from target_arch.relax import external

    def prepared(symbol: str, module: Any) -> "Run":
        named: CompileOptions = {**options, "name": symbol, "prefer": _where(module, options)}
        made = compile(module, soc, **named)
        bundle = made.write(Path(directory) / symbol)
        bundle.build()
        return lambda inputs: list(bundle.run(inputs).values())

    external.register_codegen(codegen, prepared)
    return f"relax.ext.{codegen}"


def _where(module: Any, options: CompileOptions) -> Mapping[str, str]:
    """Rules of preference: what a partition of `Compilation.module` has beside those of the options."""
    from target_arch.relax.partitioned import INSTANCE

    attributes = module["main"].attrs
    own = {"*": str(attributes[INSTANCE])} if INSTANCE in attributes else {}
    return {**own, **options.get("prefer", {})}
