"""The types of the JSON of results, by the commands that print them, and the schemas made from types.

Tests: `tests/cli/commands/test_schema.py`.
"""

import json
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Annotated, Any

from target_arch.api.chosen import RankedOutcome, SmallestChip
from target_arch.api.placed import ExplainedOperator, PlacedParts
from target_arch.api.schemas.type_schema import Schema, type_schema
from target_arch.api.views.programs import CountedRun
from target_arch.api.views.report import ComparedBundles
from target_arch.api.views.times import MeasuredSteps
from target_arch.calibrate.report import Calibrated
from target_arch.diagnostics.rules import Rule
from target_arch.explore.summary import ExploredSpace
from target_arch.plan.manifest.bundle import Manifest
from target_arch.plan.manifest.image import FirmwareEntry, ImageEntry
from target_arch.plan.manifest.verification import VerificationEntry
from target_arch.plan.manifest.weights import WeightsEntry
from target_arch.relax.inventory import OperatorUse
from target_arch.soc import SoC
from target_arch.soc.files.chip_listing import ListedChip
from target_arch.soc.files.json_schema import json_schema
from target_arch.tune.report import Tuned

_DIALECT = "https://json-schema.org/draft/2020-12/schema"

RESULTS: Mapping[str, Any] = {
    "calibrate": Calibrated,
    "chips": Annotated[list[ListedChip], "the real chips that are described"],
    "choose": Annotated[list[RankedOutcome], "chips, the best first"],
    "compare": Annotated[list[ComparedBundles], "an entry for each model that both bundles have"],
    "compile": Annotated[Manifest, "the manifest of the bundle"],
    "explain": Annotated[list[ExplainedOperator] | Rule, "operators; or a rule, of `explain RULE`"],
    "explore": ExploredSpace,
    "fit": SmallestChip,
    "operators": Annotated[list[OperatorUse], "the operators of a model by name"],
    "partition": PlacedParts,
    "report": Annotated[
        Manifest | ImageEntry | list[FirmwareEntry],
        "the manifest of the bundle; or the image of its machine or the firmware of its cores, on request",
    ],
    "show": Annotated[list[SoC], "an entry for each SoC"],
    "tune": Tuned,
    "verify": Annotated[Mapping[str, VerificationEntry], "the results by the name of the model"],
    "weights": WeightsEntry,
}
"""The type of the JSON of a result, by the name of the command that prints it."""


def schema_of(hint: Any, title: str) -> Schema:
    """The schema of a type as a document of its own."""
    return {"$schema": _DIALECT, "title": title, **type_schema(hint)}


def quantize() -> Schema:
    """The schema of what `quantize` prints."""
    text = (files("target_arch.quantize") / "result.schema.json").read_text(encoding="utf-8")
    schema: Schema = json.loads(text)
    return schema


def run() -> Schema:
    """The schema of what `run` prints, whose keys are also the names of outputs."""
    parts = {"times": MeasuredSteps, "profile": CountedRun}
    schemas = {name: type_schema(cls) for name, cls in parts.items()}
    classes = {key: value for schema in schemas.values() for key, value in schema.pop("$defs").items()}
    part = {"$ref": "#/$defs/Array"}
    array = {"anyOf": [{"type": ["number", "boolean"]}, {"type": "array", "items": part}]}
    return {
        "$schema": _DIALECT,
        "title": "Outputs, or how the self-test ended",
        "description": "each output as nested lists by its name; or how the self-test ended",
        "type": "object",
        "properties": {"self_test": {"enum": ["passed", "failed"]}, **schemas},
        "additionalProperties": part,
        "$defs": {"Array": array, **classes},
    }


def soc() -> Schema:
    """The schema of SoC files."""
    return json_schema()


WRITTEN: Mapping[str, Callable[[], Schema]] = {schema.__name__: schema for schema in (quantize, run, soc)}
"""The schemas that are made from no type, by name."""
