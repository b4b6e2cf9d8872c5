"""Commands that place a model: partition, explain."""

import argparse

import attrs

from target_arch.cli.arguments.options import compile_options
from target_arch.cli.arguments.targets import configured
from target_arch.cli.text.output import data, json_data, progress
from target_arch.diagnostics import name_hint, refusal, rules


def partition(options: argparse.Namespace) -> int:
    """Print the partition table."""
    progress(f"placing {options.model}")
    from target_arch.api.placed import partition as placed

    chosen = configured(options)
    found = placed(options.model, chosen.soc, **compile_options(options, chosen))
    if options.format == "json":
        json_data(found.to_json())
    else:
        data(str(found))
    return 0


def explain(options: argparse.Namespace) -> int:
    """Print for each operator every instance, with its cost or the reason against it; or explain a rule."""
    if not options.model.exists() and not options.model.suffix:
        return _explain_rule(str(options.model), options.format)
    progress(f"placing {options.model}")
    from target_arch.api.placed import partition as placed

    chosen = configured(options)
    made = placed(options.model, chosen.soc, runs_of=options.operator, **compile_options(options, chosen))
    found = made.explain_all(options.operator or made.operators)
    if options.format == "json":
        json_data([each.json for each in found])
    else:
        data("\n".join(map(str, found)))
    return 0


def _explain_rule(name: str, form: str) -> int:
    """Print cause and cure of a rule, which messages name in brackets."""
    known = rules()
    if name not in known:
        said = f"`{name}` is no model file and no rule"
        raise refusal("unknown-rule", "command line", said, name_hint(name, known, "there are"))
    if form == "json":
        json_data(attrs.asdict(known[name]))
    else:
        data(str(known[name]))
    return 0
