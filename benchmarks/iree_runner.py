"""Runs a module of IREE on one thread, for `benchmarks.peers`, in a Python that has IREE.

    python iree_runner.py MODULE.vmfb INPUTS.npz

Each line of the standard input is a number of runs, answered by their processor seconds, or `outputs`,
answered by the path of a file with them.
"""

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


def main() -> None:
    """Answer lines until there are no more."""
    from iree import runtime  # type: ignore[import-not-found,unused-ignore]

    module, given = map(Path, sys.argv[1:])
    config = runtime.Config("local-sync")
    loaded = runtime.load_vm_module(runtime.VmModule.mmap(config.vm_instance, str(module)), config)
    (name,) = (each for each in loaded.vm_module.function_names if "$" not in each and each != "__init")
    with np.load(given) as found:
        inputs = [runtime.asdevicearray(config.device, found[each]) for each in found.files]
    call = loaded[name]
    for line in sys.stdin:
        if line.strip() == "outputs":
            print(_saved(call(*inputs), given.with_suffix(".out.npz")), flush=True)
            continue
        begun = time.thread_time()
        for _ in range(int(line)):
            call(*inputs)
        print(time.thread_time() - begun, flush=True)


def _saved(results: Any, path: Path) -> Path:
    arrays = results if isinstance(results, tuple | list) else (results,)
    np.savez(path, *(each.to_host() for each in arrays))
    return path


if __name__ == "__main__":
    main()
