"""Run the programs of a bundle: on this machine, in an emulator, on a GPU; and measure them."""
