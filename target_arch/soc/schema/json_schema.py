"""The JSON Schema of SoC files, for editors; made from `fields.py` and shipped as `schema.json`.

It constrains single values. `target-arch check` checks the relations between values.
"""

import json
from collections.abc import Sequence
from typing import Any

from target_arch.soc.model import PHASES
from target_arch.soc.schema import fields
from target_arch.soc.schema.fields import Key
from target_arch.soc.schema.kinds import IDENTIFIER, Names, Text


def schema_text() -> str:
    """The text of `schema.json`."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def json_schema() -> dict[str, Any]:
    """The schema (draft 2020-12)."""
    load = _object(fields.LOAD)
    arch = _object(
        fields.TARGET_ARCH,
        device=_object(fields.DEVICE) | {"description": "its DLDevice"},
        load={
            "description": "how it gets its program",
            "anyOf": [load["properties"]["process"], load],
        },
    )
    arch["properties"]["cores"] = _object((*fields.CORES, fields.SHARES)) | {
        "description": "where its instances are cores beside the host's: each with a stack of its own",
    }
    arch["required"] += ["device"]
    order = {"anyOf": [Text().schema(), Names().schema()]}
    properties = {
        "schema": {"const": fields.SCHEMA, "description": "version of this format"},
        "name": Text(identifier=True).schema() | {"description": "of the SoC; a C identifier"},
        "memory": _named(_object(fields.MEMORY), "physical memories"),
        "dma": _named(_object(fields.DMA), "DMA engines"),
        "copy": {
            "type": "array",
            "items": _object(fields.COPY),
            "description": "ways from one memory to another",
        },
        "target_arch": _named(arch, "compute elements"),
        "memory_mode": _named(_object(fields.MEMORY_MODE), "how a product uses the memories")
        | {"required": ["default"]},
        "port": _named(_object(fields.PORT), "where ports of the C runtime put a program"),
        "cost": _object(fields.COST),
        "chip": _object(fields.CHIP) | {"description": "the real part that this describes"},
        "partitioning": _object(fields.PARTITIONING),
        "lowering": {
            "type": "object",
            "properties": {
                "order": order | {"description": "a policy, or an explicit list"},
                **{phase: order | {"description": f"another one for `{phase}`"} for phase in PHASES},
            },
            "minProperties": 1,
            "additionalProperties": False,
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "SoC description",
        "type": "object",
        "properties": properties,
        "required": ["schema", "name", "memory", "target_arch", "memory_mode", "partitioning"],
        "additionalProperties": False,
    }


def _object(keys: Sequence[Key], **more: dict[str, Any]) -> dict[str, Any]:
    properties = {key.name: key.kind.schema() | {"description": key.help} for key in keys}
    return {
        "type": "object",
        "properties": properties | more,
        "required": [key.name for key in keys if key.required],
        "additionalProperties": False,
    }


def _named(table: dict[str, Any], help: str) -> dict[str, Any]:
    return {
        "type": "object",
        "propertyNames": {"pattern": f"^{IDENTIFIER.pattern}$"},
        "additionalProperties": table,
        "description": help,
    }
