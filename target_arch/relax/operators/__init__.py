"""From an imported Relax module to operators: composites are found, layouts chosen, storage counted."""
