"""Every picture of a report, by the name of its file."""

from target_arch.report.facts.shown import ShownBundle, ShownModel
from target_arch.report.pictures.budgets import budgets_picture, by_pool
from target_arch.report.pictures.chip import chip_picture
from target_arch.report.pictures.frames import frames_picture
from target_arch.report.pictures.graph import graph_picture
from target_arch.report.pictures.image import image_picture
from target_arch.report.pictures.memory import named_memory
from target_arch.report.pictures.pools import pools_picture
from target_arch.report.pictures.svg import Picture
from target_arch.report.pictures.timeline import named_timeline
from target_arch.report.pictures.workload import workload_picture


def pictures(shown: ShownBundle) -> dict[str, Picture]:
    """The pictures, by file name without its ending; those of several models begin with the model's name."""
    found = {"chip": chip_picture(shown.soc)}
    timings = [(model.name, model.timing) for model in shown.models if model.timing is not None]
    if timings:
        found["workload"] = workload_picture(timings)
    for model in shown.models:
        before = f"{model.name}-" if len(shown.models) > 1 else ""
        found |= {f"{before}{name}": picture for name, picture in _of_model(model, shown).items()}
    return found | {f"image-{number}": image_picture(each) for number, each in enumerate(shown.images)}


def _of_model(model: ShownModel, shown: ShownBundle) -> dict[str, Picture]:
    found = {"model": graph_picture(model, shown.soc), "pools": pools_picture(model.pools)}
    if model.run is not None:
        found["timeline"] = named_timeline(model, model.run, shown.soc)
    found |= {f"memory-{pool.name}": named_memory(model, pool) for pool in model.pools}
    if model.frames is not None:
        found["frames"] = frames_picture(model.frames)
    budgets = by_pool(model.budgets)
    return found | {f"budgets-{pool}": budgets_picture(pool, budgets[pool]) for pool in budgets}
