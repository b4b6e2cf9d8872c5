"""The names of plug-ins in the help of a command: found when help is asked for, not before."""

import argparse

from target_arch.registry import PlugIns


def tell_names(to: argparse.ArgumentParser, plug_ins: PlugIns) -> None:
    """Add the names of the plug-ins that were found to the help of the arguments that take such a name."""
    names = {
        "lowering_order": plug_ins.policies.names,
        "planner": plug_ins.planners.names,
        "port": plug_ins.ports.names,
    }
    for action in to._actions:
        if action.dest in names:
            action.help = f"{action.help}; found: {', '.join(names[action.dest])}"
