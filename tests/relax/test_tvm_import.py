"""TVM is imported without PyTorch, which the reader of `.pt2` files imports itself, without devices, and
without what is searched for schedules until it is asked for.
"""

import subprocess
import sys

SCRIPT = """
import os, sys
from target_arch.relax.tvm_import import import_tvm
variables = dict(os.environ)
import_tvm()
import_tvm()
import tvm_ffi.registry
import tvm.backend
print(*(name in sys.modules for name in ("tvm", "torch", "tvm.runtime.disco")), tvm.backend.is_loaded("cuda"))
print(os.environ == variables, tvm_ffi.registry.list_global_func_names.__module__)
"""


LATE = """
import sys
from target_arch.relax.tvm_import import import_tvm
import_tvm()
from tvm.s_tir import meta_schedule
print("tvm.s_tir.meta_schedule.database" in sys.modules)
print(meta_schedule.Database.current(), "tvm.s_tir.meta_schedule.database" in sys.modules)
import tvm.s_tir.dlight.gpu
print(tvm.s_tir.dlight.gpu.Matmul.__name__, len(sys.meta_path) == len(set(map(id, sys.meta_path))))
"""


ROOMS = """
import sys
import target_arch.run, target_arch.stages, target_arch.emit, target_arch.explore.worker
print("tvm" in sys.modules, "torch" in sys.modules)
"""


def printed(script: str) -> str:
    return subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout


def test_tvm_comes_alone_and_leaves_nothing_changed() -> None:
    assert printed(SCRIPT) == "True False False False\nTrue tvm_ffi.registry\n"


def test_what_tvm_is_seldom_asked_for_is_loaded_where_it_is() -> None:
    assert printed(LATE) == "False\nNone True\nMatmul True\n"


def test_rooms_beside_relax_come_without_both() -> None:
    """A command imports some of them before it imports TVM, which would bring PyTorch along."""
    assert printed(ROOMS) == "False False\n"
