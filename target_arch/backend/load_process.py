"""The contract of load processes: how an instance gets its program, as one value.

A SoC file names it (`load = { process = "firmware", image = "dsp.elf" }`). It is found by the entry-point
group `target_arch.load_processes`, in the folder `load_processes` of a `--backend-dir`, or added in Python.
"""

from collections.abc import Callable, Mapping

from attrs import field, frozen

ENTRY_POINT_GROUP = "target_arch.load_processes"
FIRST_OF_PLUG_INS = 256
"""The least number of a load process that `abi.h` does not name: `TA_LOAD_FIRST_OF_PLUG_INS`."""


@frozen(kw_only=True)
class LoadProcessKind:
    """One way in which an instance gets its program.

    `number` is the value of `ta_instance_info.load_process`; `macro` names it in C where `abi.h` does, else
    the number is from FIRST_OF_PLUG_INS on and a port compares with that. `image` is how the name of the file
    ends that the SoC file names (`.elf`); None where the instance takes no file.

    `check` is the C function, `ta_status check(const uint8_t *image, uint32_t bytes)`, by which a port that
    simulates checks an image before an instance takes it; None where any bytes will do. `files` returns path
    (below `runtime/`) → text of the C that defines it.
    """

    name: str
    description: str
    number: int
    macro: str = ""
    image: str | None = None
    check: str | None = None
    files: Callable[[], Mapping[str, str]] = field(default=dict)

    @property
    def c_value(self) -> str:
        """The number as C has it."""
        return self.macro or f"{self.number}u /* {self.name} */"

    def __str__(self) -> str:
        takes = "no image" if self.image is None else f"an image `*{self.image}`"
        checked = f", checked by {self.check}" if self.check else ""
        return f"{self.name} ({self.number}, {takes}{checked}): {self.description}\n"
