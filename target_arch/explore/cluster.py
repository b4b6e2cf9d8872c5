"""Workers on other computers: those of a Dask scheduler that runs.

Model files, and cost files, are sent by content, so nothing needs to be shared: as a plug-in of Dask that
every worker runs when it begins, also one that begins when all others have died. The program itself is not
sent: every worker has to have the same one installed. Workers that die leave their points to others. Tests:
`tests/explore/test_cluster.py`.
"""

import hashlib
import itertools
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path as File
from threading import get_ident
from typing import Any

from attrs import evolve, field, frozen

from target_arch.backend.lowering import NotInstalled
from target_arch.diagnostics import Diagnostic, DiagnosticError, refusal
from target_arch.explore.chip import ChipFile
from target_arch.explore.content import beside, program_digest
from target_arch.explore.evaluate import Evaluator, KnownBetter, PointTask
from target_arch.explore.outcome import PROCESS_ENDED, PointOutcome, Status
from target_arch.plan.goal import Goal
from target_arch.plan.objective import Objective
from target_arch.registry.plug_ins import PlugIns

AHEAD = 2
"""Tasks that wait at a worker's thread beside the one that it computes."""
_TIMEOUT = 30
_UPLOADS = 5
"""How often files are sent where workers end meanwhile."""


@frozen(kw_only=True)
class SentTask:
    """A task without the files of this computer: models and the cost file are named by their digests.
    `program` is the digest of the one that asks, and `upload` begins the names of files that it has sent.
    """

    program: str = field(repr=False)
    upload: str
    text: str = field(repr=False)
    shown: str
    costs: tuple[str, str]
    """The name of the cost file in the SoC file, and its digest; empty without one."""
    models: Mapping[str, tuple[tuple[str, str], ...]]
    """By model its file and those of its data: the name and the digest of each."""
    mode: str
    optimize: Goal
    objective: Objective
    known: KnownBetter | None


@cache
def _content(file: File) -> tuple[str, bytes]:
    """The digest of a file, and what it holds."""
    data = file.read_bytes()
    return hashlib.sha256(data).hexdigest(), data


@frozen(kw_only=True)
class _Asked:
    """A task that Dask has, under a key of its own each time. Where it was given up once, it is asked for
    `alone`: Dask gives up after a fourth worker that ended, also where the task only waited at these.
    """

    id: str
    task: PointTask
    times: int = 1
    alone: bool = False

    def again(self, *, alone: bool) -> "_Asked":
        """The next time."""
        return evolve(self, times=self.times + 1, alone=alone)


class DaskWorkers:
    """The workers of the scheduler at an address, `tcp://HOST:PORT`, as long as the context is.

    Raises NotInstalled without the package, and DiagnosticError where nothing answers, or where a worker has
    another program.
    """

    def __init__(self, address: str, program: str) -> None:
        try:
            distributed: Any = import_module("distributed")
        except ImportError as error:
            said, hint = "package `distributed` is not installed", "pip install 'target-arch[explore]'"
            wrong = Diagnostic(rule="missing-extra", place="scheduler", message=said, hint=hint)
            raise NotInstalled([wrong]) from error
        self._distributed, self._address, self._program = distributed, address, program
        try:
            self._client: Any = distributed.Client(address, timeout=_TIMEOUT, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            hint = "start one: `dask scheduler`, and `dask worker ADDRESS` on every computer"
            raise refusal("no-scheduler", address, "no scheduler of Dask answers there", hint) from error
        self._uploads, self._sent = 0, set[str]()
        require_version(address, distributed.__version__, _version(self._client))
        self._require_same(address, program)

    def __enter__(self) -> "DaskWorkers":
        return self

    def __exit__(self, *raised: object) -> None:
        if self._client.status == "running":
            with suppress(OSError, ValueError, TimeoutError, CancelledError):
                for digest in self._sent:
                    self._client.unregister_worker_plugin(self._upload + digest)
        self._client.close()

    @property
    def dashboard(self) -> str:
        """The address of Dask's own page about its workers."""
        return str(self._client.dashboard_link)

    def check(self, task: PointTask) -> None:
        """Read the models of a task at a worker. Raises DiagnosticError where one cannot be read, or where
        all workers that try end.
        """
        with self._connected():
            future = self._client.submit(read, self._task(task), pure=False)
            if (error := future.exception()) is not None:
                said = f"all workers that read them ended: {_text(error)}"
                raise refusal("process-ended", "models", said, "the file of a model may be damaged")
            _raise(future.result())

    def run(self, tasks: Iterable[tuple[str, PointTask]]) -> Iterator[tuple[str, PointOutcome]]:
        """The outcome of every task as it is known, by the task's id. Raises DiagnosticError where no chip
        can help.

        A task that Dask gives up says little while others run: all workers may be killed. It is asked for
        again after the others, one such task at a time.
        """
        waiting, done = iter(tasks), self._distributed.as_completed(loop=self._client.loop)
        asked: dict[str, _Asked] = {}
        aside = deque[_Asked]()
        while True:
            with self._connected():
                new = itertools.islice(waiting, max(0, self._room() - len(asked)))
                done.update([self._ask(_Asked(id=id, task=task), asked) for id, task in new])
                if not asked and aside:
                    done.add(self._ask(aside.popleft(), asked))
            if not asked:
                return
            future = next(done)
            one = asked.pop(future.key)
            with self._connected():
                answer = self._outcome(future)
                if answer is None:
                    if future.key.startswith(self._upload):
                        self._uploads, self._sent = self._uploads + 1, set()
                    done.add(self._ask(one.again(alone=one.alone), asked))
                    continue
            if isinstance(answer, PointOutcome):
                yield one.id, answer
            elif one.alone:
                yield one.id, _died(answer)
            else:
                aside.append(one.again(alone=True))

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Raises DiagnosticError where the scheduler goes, and its futures with it."""
        try:
            yield
        except (OSError, CancelledError) as error:
            said = "the scheduler does not answer any more"
            hint = "start it again, and run again: what was known is in the store"
            raise refusal("lost-scheduler", self._address, said, hint) from error

    def _ask(self, one: "_Asked", asked: dict[str, "_Asked"]) -> Any:
        sent = self._task(one.task)
        key = f"{sent.upload}{one.id}-{one.times}"
        asked[key] = one
        return self._client.submit(evaluate, sent, key=key, pure=True)

    def _outcome(self, future: Any) -> PointOutcome | BaseException | None:
        """The end of a future: an outcome, why Dask has given it up, or None where somebody cancelled it.
        Raises CancelledError where the scheduler is gone.
        """
        if future.cancelled():
            self._client.run_on_scheduler(_own_version)
            return None
        error: BaseException | None = future.exception()
        if error is not None:
            return error
        answer = future.result()
        _raise(answer)
        assert isinstance(answer, PointOutcome)
        return answer

    def _room(self) -> int:
        """How many tasks may be at the workers."""
        threads = sum(self._client.nthreads().values())
        return max(1, int(threads)) * (1 + AHEAD)

    @property
    def _upload(self) -> str:
        """The begin of the names of files that were sent, another one after all were lost."""
        return f"target_arch-{self._client.id}-{self._uploads}-"

    def _task(self, task: PointTask) -> SentTask:
        """The task as it is sent, after its files."""
        named = task.chip.cost_file()
        return SentTask(
            program=self._program,
            upload=self._upload,
            text=task.chip.text,
            shown=task.chip.shown,
            costs=("", "") if named is None else (named, self._send(task.chip.folder / named)),
            models={name: self._files(file) for name, file in task.models.items()},
            mode=task.mode,
            optimize=task.optimize,
            objective=task.objective,
            known=task.known,
        )

    def _files(self, file: File) -> tuple[tuple[str, str], ...]:
        every = {file.name: file, **beside(file)}
        return tuple((name, self._send(each)) for name, each in every.items())

    def _send(self, file: File) -> str:
        """The digest of a file, which all workers have, and will have that begin later."""
        digest, data = _content(file)
        if digest not in self._sent:
            with tempfile.TemporaryDirectory(prefix="target_arch-") as folder:
                named = File(folder) / (self._upload + digest)
                named.write_bytes(data)
                plug_in = self._distributed.diagnostics.plugin.UploadFile(str(named), load=False)
            self._register(plug_in, named.name)
            self._sent.add(digest)
        return digest

    def _register(self, plug_in: Any, name: str) -> None:
        """Send a plug-in to all workers, some of which may end meanwhile."""
        for left in reversed(range(_UPLOADS)):
            try:
                self._client.register_plugin(plug_in, name=name)
            except OSError:
                if not left:
                    raise
            else:
                return

    def _require_same(self, address: str, program: str) -> None:
        try:
            self._client.wait_for_workers(1, timeout=_TIMEOUT)
        except TimeoutError as error:
            hint = f"start one on every computer: `dask worker {address}`"
            raise refusal("no-scheduler", address, "the scheduler has no worker", hint) from error
        try:
            known = self._client.run(program_digest, ())
        except Exception as error:
            said = f"a worker cannot load target_arch: {_text(error)}"
            hint = "install the same version on every computer"
            raise refusal("other-program", address, said, hint) from error
        others = sorted(worker for worker, digest in known.items() if digest != program)
        if others:
            raise _other_program(others[0])


def require_version(address: str, ours: str, theirs: str) -> None:
    """Raises DiagnosticError for a scheduler of another version: Dask promises no more than its own."""
    if theirs != ours:
        said = f"the scheduler is Dask distributed {theirs}, this computer has {ours}"
        hint = "install the same version on every computer"
        raise refusal("other-scheduler", address, said, hint)


def _version(client: Any) -> str:
    """The version of a client's scheduler."""
    return str(client.run_on_scheduler(_own_version))


def _own_version() -> str:
    """That of Dask in this process."""
    return str(import_module("distributed").__version__)


def evaluate(sent: SentTask) -> PointOutcome | DiagnosticError:
    """Evaluate a task, at a worker."""
    try:
        return _evaluator()(_received(sent))
    except DiagnosticError as error:
        return DiagnosticError(error.diagnostics)


def read(sent: SentTask) -> DiagnosticError | None:
    """Read the models of a task, at a worker."""
    try:
        _evaluator().read(_received(sent))
    except DiagnosticError as error:
        return DiagnosticError(error.diagnostics)
    return None


@cache
def _evaluator() -> Evaluator:
    """That of this process."""
    return Evaluator(PlugIns.discover(()))


@cache
def _own_program() -> str:
    """The digest of this process' program."""
    return program_digest(())


def _received(sent: SentTask) -> PointTask:
    """The task with files of this worker. Raises DiagnosticError where it has another program: it may have
    come when others had begun.
    """
    worker = import_module("distributed").get_worker()
    if _own_program() != sent.program:
        raise _other_program(worker.address)
    uploaded = f"{worker.local_directory}/{sent.upload}"
    models = {name: _copied(uploaded, files) for name, files in sent.models.items()}
    chip = ChipFile(text=sent.text, shown=sent.shown, folder=File())
    named, digest = sent.costs
    if named:
        chip = chip.with_costs(str(_copied(uploaded, ((File(named).name, digest),))))
    return PointTask(
        chip=chip,
        models=models,
        mode=sent.mode,
        optimize=sent.optimize,
        objective=sent.objective,
        known=sent.known,
    )


def _copied(uploaded: str, files: tuple[tuple[str, str], ...]) -> File:
    """The first of uploaded files, all under their own names in a folder for their content. They are copies:
    ONNX takes no links to a model's data.
    """
    content = hashlib.sha256(repr(files).encode()).hexdigest()
    folder = File(uploaded).parent / f"target_arch-{content}"
    for name, digest in files:
        file = folder / name
        if not file.is_file():
            file.parent.mkdir(parents=True, exist_ok=True)
            part = file.with_name(f"{file.name}.{get_ident()}")
            os.replace(shutil.copyfile(uploaded + digest, part), file)
    return folder / files[0][0]


def _other_program(worker: str) -> DiagnosticError:
    said = f"worker {worker} has another program than this computer"
    hint = "install the same version of target_arch, of TVM and of all plug-ins on every computer"
    return refusal("other-program", worker, said, hint)


def _died(error: BaseException) -> PointOutcome:
    """The outcome of a point with which workers ended again and again."""
    said = f"all workers ended with this point: {_text(error)}"
    return PointOutcome(status=Status.CRASHED, rule=PROCESS_ENDED, reason=said)


def _raise(answer: object) -> None:
    if isinstance(answer, DiagnosticError):
        raise answer


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
