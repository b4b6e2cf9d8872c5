"""How plug-ins are found and guarded: sources, tables of names, errors."""
