"""Measure kernels on other computers, through TVM's RPC tracker: whichever server is free takes the next one.

A server is `python -m tvm.exec.rpc_server --tracker HOST:PORT --key KEY` (or TVM's C++ one). It gets a shared
object that was compiled here and calls it; it needs no compiler and nothing of this package.
"""

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from attrs import frozen

from target_arch.diagnostics import Diagnostic, DiagnosticError

_ROUNDS = 5
_TIMEOUT = 60
_ANSWERS_WITHIN = 5.0


@frozen(kw_only=True)
class RemoteRunner:
    """Runs shared objects on the servers that a tracker knows under a key.

    `compile(text, path)` makes the shared object and returns whether it succeeded.
    """

    host: str
    port: int
    key: str
    compile: Callable[[str, Path], bool]

    def __call__(self, texts: tuple[str, ...]) -> tuple[tuple[float, int, int] | None, ...]:
        """Seconds, hash and runner of each text, None for one that fails. DiagnosticError without servers."""
        servers = self.servers()
        with ThreadPoolExecutor(max_workers=servers) as pool:
            return tuple(pool.map(self._one, texts))

    def servers(self) -> int:
        """How many servers the tracker has. DiagnosticError where it does not answer or has none."""
        try:
            # TVM tries again for a minute.
            socket.create_connection((self.host, self.port), timeout=_ANSWERS_WITHIN).close()
        except OSError as error:
            raise _refused("the tracker does not answer", self) from error
        summary = self._tracker().summary()["server_info"]
        found = sum(1 for each in summary if str(each["key"]) == f"server:{self.key}")
        if found == 0:
            raise _refused(f"the tracker has no server of key `{self.key}`", self)
        return found

    def _tracker(self) -> Any:
        try:
            from tvm import rpc

            return rpc.connect_tracker(self.host, self.port)
        except ImportError as error:
            raise _refused(f"TVM's RPC needs `{error.name}`: install the extra `tune`", self) from error
        except Exception as error:
            raise _refused("the tracker does not answer", self) from error

    def _one(self, text: str) -> tuple[float, int, int] | None:
        with TemporaryDirectory() as folder:
            made = Path(folder) / "measure.so"
            if not self.compile(text, made):
                return None
            try:
                session = self._tracker().request(self.key, session_timeout=_TIMEOUT)
                session.upload(str(made))
                module = session.load_module(made.name)
                found = (
                    float(module["seconds"](_ROUNDS)), int(module["hash"]()), int(module["server"]())
                )  # fmt: skip
            except DiagnosticError:
                raise
            except Exception:
                # A candidate that breaks a server fails alone.
                return None
        return found


def _refused(said: str, runner: RemoteRunner) -> DiagnosticError:
    hint = "python -m tvm.exec.rpc_tracker and rpc_server start them; see docs/tuning.md"
    place = f"tracker {runner.host}:{runner.port}"
    return DiagnosticError([Diagnostic(rule="no-runner", place=place, message=said, hint=hint)])
