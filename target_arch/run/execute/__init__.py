"""Run what was built: on this machine, in an emulator, on a GPU; and measure it."""
