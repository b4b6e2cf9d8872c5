"""The names of plug-ins in the help of a command: found when help is asked for, not before."""

import argparse

from target_arch.registry import PlugIns


def tell_names(to: argparse.ArgumentParser, plug_ins: PlugIns) -> None:
    """Add the names of the plug-ins that were found to the help of the arguments that take such a name, or a
    file with such names.
    """
    names = {
        "lowering_order": ("found", plug_ins.policies.names),
        "planner": ("found", plug_ins.planners.names),
        "port": ("found", plug_ins.ports.names),
        "soc": ("load processes found", plug_ins.load_processes.names),
    }
    for action in to._actions:
        if action.dest in names:
            which, found = names[action.dest]
            action.help = f"{action.help}; {which}: {', '.join(found)}"
