"""`README.md`, `LICENSE` and `NOTICE`: for a reader who has only the folder."""

from target_arch.emit.build.libraries import folder_of, libraries
from target_arch.emit.model.inputs import EmitInputs, Member, terminals
from target_arch.emit.packages.sources import PackageSources
from target_arch.emit.programs.buffers import lent_array, lent_value, run_call
from target_arch.plan.memory import BufferKind
from target_arch.resources import runtime_c

_README = """\
# {name}

{about}. Made by target-arch; C99, no heap, no recursion, static memory.

```c
#include <stdio.h>
{headers}
{memory}int main(void)
{{
    if ({name}_init(&ta_port_{port}) != TA_OK)
        return 1;
{write}    if ({run} != TA_OK)
        return 1;
{read}    return {name}_stop() == TA_OK ? 0 : 1;
}}
```

| file | |
|---|---|
| `include/{name}.h` | the functions: init, run, stop; where inputs go and outputs are |
| `include/{soc}_soc.h` | the numbers of the chip: target_archs, memories, DMA channels |
| `src/` | the model: kernels, constants, steps |
| `runtime/` | the runtime, its port `{port}`, drivers of devices |
| `{soc}.ld` | where the linker puts arenas, for builds with `-DTA_SECTIONS` |
| `{soc}.toml` | the description of the chip |
| `manifest.json` | everything about the bundle, for programs |

| build with | how |
|---|---|
| make | `make`, `make selftest` |
| CMake | `add_subdirectory` or `find_package({name})` of the installed bundle: `target_arch::{name}` |
| Zephyr | list this folder in `ZEPHYR_EXTRA_MODULES`, set `CONFIG_TARGET_ARCH_{upper}=y` |
| PlatformIO | put this folder into `lib/`, or name it in `lib_deps` |
| CMSIS-Pack | `target_arch.{name}.pdsc` describes this folder |

Calls come from one thread at a time and not from interrupts. A program may have several bundles; on one
port, one of them is between init and stop at a time.
"""

_NOTICE = """\
{name}

runtime/, include/target_arch/, src/runner.c, src/selftest.c: the runtime of target-arch and its programs,
Apache License 2.0, see LICENSE.
All else in src/ and include/, manifest.json and build files: generated from your model and SoC file;
target-arch claims nothing in them (LicenseRef-generated in their SPDX tags: the licence of the model, which
you know).
sbom.cdx.json lists all files with their hashes and origin.
"""

_CARRIED = """\
{folder}/: the library {name}, under the licence that its files name.
"""


def papers(inputs: EmitInputs, contents: PackageSources) -> dict[str, str]:
    """Path and text of each."""
    carried = (each for each in libraries(inputs.kernels) if each.carried)
    notes = "".join(_CARRIED.format(folder=folder_of(each), name=each.name) for each in carried)
    return {
        "README.md": _readme(inputs, contents),
        "LICENSE": (runtime_c() / "LICENSE").read_text(encoding="utf-8"),
        "NOTICE": _NOTICE.format(name=contents.name) + notes,
    }


def _readme(inputs: EmitInputs, contents: PackageSources) -> str:
    first = inputs.members[0]
    headers = dict.fromkeys([contents.name, *(member.stem for member in inputs.members)])
    return _README.format(
        headers="".join(f"#include <{name}.h>\n" for name in headers),
        name=contents.name,
        upper=contents.name.upper(),
        about=contents.about,
        port=inputs.port.name,
        soc=inputs.soc.name,
        memory=_memory(first),
        run=run_call(first),
        write=_write(first),
        read=_read(first),
    )


def _memory(member: Member) -> str:
    """The memory that the program lends; nothing where inputs and outputs are in arenas."""
    if not member.lends:
        return ""
    held = terminals(member)
    lines = [line for one in held for line in lent_array(one.c_type, one.function)]
    return "\n".join((*lines, *lent_value(member.stem, [one.function for one in held]), "", ""))


def _write(member: Member) -> str:
    given = (each for each in terminals(member) if each.kind == BufferKind.INPUT)
    return "".join(f"    /* write {each.place} */\n" for each in given)


def _read(member: Member) -> str:
    made = (each for each in terminals(member) if each.kind == BufferKind.OUTPUT)
    return "".join(f"    /* read {each.place} */\n" for each in made)
