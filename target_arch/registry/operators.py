"""The table of operator libraries, and the one converter that they have for an operator."""

import re
from collections.abc import Iterable, Iterator, Mapping

from target_arch.backend.operators import (
    ENTRY_POINT_GROUP,
    ForeignConverter,
    ModelFormat,
    OperatorLibrary,
)
from target_arch.diagnostics import Diagnostic, Note, listed
from target_arch.registry.lookup.errors import PlugInError
from target_arch.registry.lookup.sources import Source
from target_arch.registry.lookup.table import Complaint, PlugInKind, PlugInTable
from target_arch.registry.validate_systems import C_NAME, misnamed

TFLITE_BUILT_IN = frozenset({"Convolution2DTransposeBias", "TFLite_Detection_PostProcess"})
"""Custom operators of TFLite that this program converts."""

_FORMS = {
    ModelFormat.ONNX: re.compile(r"[A-Za-z]\w*(\.\w+)*\.\w+", re.ASCII),
    ModelFormat.PYTORCH: re.compile(r"[A-Za-z_]\w*::[A-Za-z_]\w*", re.ASCII),
    ModelFormat.TFLITE: re.compile(r".+"),
}
_EXAMPLES = {
    ModelFormat.ONNX: "com.acme.Gain",
    ModelFormat.PYTORCH: "acme::gain",
    ModelFormat.TFLITE: "AcmeGain",
}
_OWN = {
    ModelFormat.ONNX: re.compile(r"(ai\.onnx(\..*)?|com\.microsoft)\.\w+"),
    ModelFormat.PYTORCH: re.compile(r"(aten|prims|quantized_decomposed)::\w+"),
    ModelFormat.TFLITE: re.compile("|".join(sorted(TFLITE_BUILT_IN))),
}
"""Operators of which this program says what they are."""


def library_complaints(library: OperatorLibrary, name: str) -> Iterator[Complaint]:
    """Everything wrong with the library that was found under a name."""
    yield from misnamed("operator library", library, name, C_NAME)
    for problem in _wrong(library):
        yield "operator-library-incomplete", f"operator library `{name}`: {problem}", None


def _wrong(library: OperatorLibrary) -> Iterator[str]:
    if library.declare is not None and not callable(library.declare):
        yield "`declare` is not callable"
    if not isinstance(library.converters, Mapping) or not library.converters:
        yield "`converters` is no table, or an empty one"
        return
    for key, convert in library.converters.items():
        if not isinstance(key, tuple) or len(key) != 2 or not all(isinstance(part, str) for part in key):
            yield f"the key {key!r} is not a pair of format and name"
        elif key[0] not in list(ModelFormat):
            yield f"`{key[0]}` is no format of models; there are {listed(list(ModelFormat))}"
        else:
            yield from _wrong_operator(ModelFormat(key[0]), key[1])
        if not callable(convert):
            yield f"the converter of {key!r} is not callable"


def _wrong_operator(form: ModelFormat, name: str) -> Iterator[str]:
    if not _FORMS[form].fullmatch(name):
        yield f"`{name}` is no name of an operator of {form}, as `{_EXAMPLES[form]}` is"
    elif _OWN[form].fullmatch(name):
        yield f"operator `{name}` of {form} is this program's own"


OPERATORS = PlugInKind[OperatorLibrary](
    word="operator library",
    rule="operator-library",
    group=ENTRY_POINT_GROUP,
    folder="operators",
    export="operators",
    type=OperatorLibrary,
    complaints=library_complaints,
    guarded=lambda library: library,  # readers catch what converters raise
)


class OperatorLibraries(PlugInTable[OperatorLibrary]):
    """The operator libraries that were found."""

    def __init__(self, sources: Iterable[Source] = ()) -> None:
        super().__init__(OPERATORS, sources)
        self._joined: dict[tuple[str, str], ForeignConverter] | None = None

    def add(self, value: OperatorLibrary, origin: str = "added in Python") -> None:
        """Register a library. Raises PlugInError as for any plug-in, and where another one converts one of
        its operators.
        """
        super().add(value, origin)
        self._joined = None
        try:
            self._all()
        except PlugInError:
            self.remove(value.name)
            raise

    def load_folders(self) -> None:
        """Import and check every library in the folders. Raises PlugInError with every fault."""
        super().load_folders()
        if any(self.is_in_folder(name) for name in self.names):
            self._all()

    def converter(self, form: ModelFormat, name: str) -> ForeignConverter | None:
        """Return the converter of an operator by its format and name; None where no library has one.

        Raises PlugInError where a library cannot be used, or two convert one operator.
        """
        return self._all().get((form, name))

    def _all(self) -> dict[tuple[str, str], ForeignConverter]:
        """The converters of all libraries, which are imported here."""
        if self._joined is None:
            joined: dict[tuple[str, str], ForeignConverter] = {}
            for name in self.names:
                library, origin = self[name], self.origin(name)
                for key, convert in library.converters.items():
                    if key in joined:
                        raise _clash(key, joined[key].origin, origin)
                    joined[key] = ForeignConverter(convert=convert, library=library, origin=origin)
            self._joined = joined
        return self._joined


def _clash(key: tuple[str, str], first: str, second: str) -> PlugInError:
    said = Diagnostic(
        rule="operator-duplicate",
        place=second,
        message=f"operator `{key[1]}` of {key[0]} has two converters",
        hint="take one of the libraries away",
        notes=(Note(place=first, message="it is converted here, too"),),
    )
    return PlugInError(key[1], (first, second), (said,))
