"""The command `quantize`."""

import argparse

from target_arch.cli.text.output import data, json_data, note, progress, write_file


def quantize(options: argparse.Namespace) -> int:
    """Choose precisions, write the quantized model, and print what it is beside the others."""
    from target_arch.api.quantizing import quantize_model, require_output

    require_output(options.model, options.output)
    model = quantize_model(
        options.model,
        options.soc,
        options.data,
        labels=options.labels,
        within=options.within,
        mode=options.mode,
        optimize=options.optimize,
        backend_dirs=options.backend_dir,
        said=progress,
    )
    write_file(options.output, model.content)
    if options.format == "json":
        json_data(model.to_json())
    else:
        data(str(model))
        note(
            f"`target-arch verify {options.output} --soc {options.soc}` compiles it and compares its results"
        )
    return 0
