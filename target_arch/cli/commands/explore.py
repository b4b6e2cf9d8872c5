"""The commands that compare chips."""

import argparse
from pathlib import Path

from target_arch.cli.commands.compile import named_files
from target_arch.cli.text.output import data, json_data, note, progress, write_text

_EVERY = 20
"""Progress is said this many times, at most once for each point."""


def explore(options: argparse.Namespace) -> int:
    """Evaluate every point of a space and print the front; 1 if no point is good. With `--chip`, the SoC file
    of a point instead.
    """
    from target_arch.api.explored import explore_chips, point_chip

    if options.chip is not None:
        folder = options.output.parent if options.output is not None else Path()
        _written(options.output, point_chip(options.space, options.chip, folder))
        return 0
    made = explore_chips(
        options.space,
        workers=options.workers,
        store=options.store,
        seed=options.seed,
        scheduler=options.scheduler,
        trials=options.trials,
        prune=options.prune,
        page=options.html,
        backend_dirs=options.backend_dir,
        said=_said,
    )
    if options.csv is not None:
        _written(options.csv, made.to_csv())
    if options.format == "json":
        json_data(made.to_json())
    else:
        data(str(made))
        if made.front:
            note(f"`--chip {made.front[0]} -o chip.toml` writes the SoC file of point {made.front[0]}")
    return 0 if made.front else 1


def fit(options: argparse.Namespace) -> int:
    """Print what the smallest chip is, with both sides, and write its SoC file."""
    from target_arch.api.chosen import fit_chip

    made = fit_chip(
        named_files(options.models),
        options.soc,
        [name for name in options.shrink.split(",") if name],
        within=options.within,
        store=options.store,
        backend_dirs=options.backend_dir,
    )
    if options.output is not None:
        _written(options.output, made.chip(options.output.parent))
    if options.format == "json":
        json_data(made.to_json())
    else:
        data(str(made))
    return 0


def choose(options: argparse.Namespace) -> int:
    """Print the chips, the best first; 1 if none is good."""
    from target_arch.api.chosen import choose_chip

    made = choose_chip(
        named_files(options.models),
        limit=options.limit,
        socs=options.soc,
        by=options.by,
        workers=options.workers,
        store=options.store,
        backend_dirs=options.backend_dir,
    )
    if options.format == "json":
        json_data(made.to_json())
    else:
        data(str(made))
    return 0 if any(chip.good for chip in made.chips) else 1


def _said(done: int, every: int) -> None:
    if done == every or done % max(1, every // _EVERY) == 0:
        progress(f"{done:,} of {every:,} points")


def _written(file: Path | None, text: str) -> None:
    """Write to a file, or print."""
    if file is None:
        data(text)
        return
    write_text(file, text)
