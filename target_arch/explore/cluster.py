"""Workers on other computers: those of a Dask scheduler that runs.

Model files, and cost files, are sent by content and written into a folder of the worker's own, so nothing
needs to be shared; the program itself is not sent: every worker has to have the same one installed. Workers
that die leave their points to others. Tests: `tests/explore/test_cluster.py`.
"""

import hashlib
import itertools
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path as File
from typing import Any

from attrs import evolve, field, frozen

from target_arch.backend.lowering import NotInstalled
from target_arch.diagnostics import Diagnostic, DiagnosticError, refusal
from target_arch.explore.chip import ChipFile
from target_arch.explore.content import program_digest
from target_arch.explore.evaluate import Evaluator, KnownBetter, PointTask
from target_arch.explore.outcome import PROCESS_ENDED, PointOutcome, Status
from target_arch.plan.goal import Goal
from target_arch.plan.objective import Objective
from target_arch.registry.plug_ins import PlugIns

AHEAD = 2
"""Tasks that wait at a worker's thread beside the one that it computes."""
TRIES = 2
"""How often Dask is asked for a point. It gives up after its fourth worker that ended, and counts for it also
those in which the point only waited.
"""
LOSSES = 30
"""How often a point is asked for again since the files that it needs went with all workers that had them."""
_TIMEOUT = 30


@frozen(kw_only=True)
class SentTask:
    """A task without the files of this computer: models and the cost file are named by their digests."""

    text: str = field(repr=False)
    shown: str
    costs: tuple[str, str]
    """The name of the cost file in the SoC file, and its digest; empty without one."""
    models: Mapping[str, tuple[str, str]]
    mode: str
    optimize: Goal
    objective: Objective
    known: KnownBetter | None


def _files_of(task: PointTask) -> tuple[SentTask, dict[str, bytes]]:
    """The task as it is sent, and the contents that it needs."""
    contents: dict[str, bytes] = {}

    def digest(file: File) -> str:
        name, data = _content(file)
        contents[name] = data
        return name

    named = task.chip.cost_file()
    sent = SentTask(
        text=task.chip.text,
        shown=task.chip.shown,
        costs=("", "") if named is None else (named, digest(task.chip.folder / named)),
        models={name: (file.name, digest(file)) for name, file in task.models.items()},
        mode=task.mode,
        optimize=task.optimize,
        objective=task.objective,
        known=task.known,
    )
    return sent, contents


@cache
def _content(file: File) -> tuple[str, bytes]:
    """The digest of a file, and what it holds."""
    data = file.read_bytes()
    return hashlib.sha256(data).hexdigest(), data


@frozen(kw_only=True)
class _Asked:
    """A task that Dask has, under a key for each try."""

    id: str
    task: PointTask
    tries: int = 1
    losses: int = 0

    @property
    def key(self) -> str:
        return f"target_arch-{self.id}-{self.tries}-{self.losses}"

    def again(self, *, lost: bool) -> "_Asked | None":
        """The next try after Dask has given up, None where this was the last; the same one after its files
        were lost. Raises CancelledError where that was once too often.
        """
        if not lost:
            return evolve(self, tries=self.tries + 1) if self.tries < TRIES else None
        if self.losses >= LOSSES:
            raise CancelledError
        return evolve(self, losses=self.losses + 1)


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
        self._distributed, self._address = distributed, address
        try:
            self._client: Any = distributed.Client(address, timeout=_TIMEOUT, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            hint = "start one: `dask scheduler`, and `dask worker ADDRESS` on every computer"
            raise refusal("no-scheduler", address, "no scheduler of Dask answers there", hint) from error
        self._contents: dict[str, Any] = {}
        require_version(address, distributed.__version__, _version(self._client))
        self._require_same(address, program)

    def __enter__(self) -> "DaskWorkers":
        return self

    def __exit__(self, *raised: object) -> None:
        self._client.close()

    @property
    def dashboard(self) -> str:
        """The address of Dask's own page about its workers."""
        return str(self._client.dashboard_link)

    def check(self, task: PointTask) -> None:
        """Read the models of a task at a worker. Raises DiagnosticError where one cannot be read."""
        sent, contents = self._sent(task)
        _raise(self._client.submit(read, sent, contents, pure=False).result())

    def run(self, tasks: Iterable[tuple[str, PointTask]]) -> Iterator[tuple[str, PointOutcome]]:
        """The outcome of every task as it is known, by the task's id. Raises DiagnosticError where no chip
        can help.
        """
        waiting, done = iter(tasks), self._distributed.as_completed(loop=self._client.loop)
        asked: dict[str, _Asked] = {}
        with self._connected():
            done.update(self._submit(waiting, asked, self._room()))
        while asked:
            future = next(done)
            one = asked.pop(future.key)
            with self._connected():
                answer = self._outcome(future)
                again = one.again(lost=future.cancelled()) if answer is None else None
                if again is not None:
                    self._contents.clear()
                    done.add(self._ask(again, asked))
                    continue
            yield one.id, answer or _died(future.exception())
            with self._connected():
                done.update(self._submit(waiting, asked, self._room() - len(asked)))

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Raises DiagnosticError where the scheduler goes, and its futures with it."""
        try:
            yield
        except (OSError, CancelledError) as error:
            said = "the scheduler does not answer any more"
            hint = "start it again, and run again: what was known is in the store"
            raise refusal("lost-scheduler", self._address, said, hint) from error

    def _submit(
        self, waiting: Iterator[tuple[str, PointTask]], asked: dict[str, "_Asked"], count: int
    ) -> list[Any]:
        return [
            self._ask(_Asked(id=id, task=task), asked)
            for id, task in itertools.islice(waiting, max(0, count))
        ]

    def _ask(self, one: "_Asked", asked: dict[str, "_Asked"]) -> Any:
        sent, contents = self._sent(one.task)
        future = self._client.submit(evaluate, sent, contents, key=one.key, pure=True)
        asked[future.key] = one
        return future

    def _outcome(self, future: Any) -> PointOutcome | None:
        """The end of a future; None where the workers of its point ended, or all that had its files. Raises
        CancelledError where the scheduler is gone.
        """
        if future.cancelled():
            self._client.run_on_scheduler(_own_version)
            return None
        if future.exception() is not None:
            return None
        answer = future.result()
        _raise(answer)
        assert isinstance(answer, PointOutcome)
        return answer

    def _room(self) -> int:
        """How many tasks may be at the workers."""
        threads = sum(self._client.nthreads().values())
        return max(1, int(threads)) * (1 + AHEAD)

    def _sent(self, task: PointTask) -> tuple[SentTask, dict[str, Any]]:
        sent, contents = _files_of(task)
        for digest, data in contents.items():
            if digest not in self._contents:
                self._contents[digest] = self._client.scatter(data, broadcast=True, hash=True)
        return sent, {digest: self._contents[digest] for digest in contents}

    def _require_same(self, address: str, program: str) -> None:
        try:
            self._client.wait_for_workers(1, timeout=_TIMEOUT)
        except TimeoutError as error:
            hint = f"start one on every computer: `dask worker {address}`"
            raise refusal("no-scheduler", address, "the scheduler has no worker", hint) from error
        try:
            known = self._client.run(program_digest, ())
        except Exception as error:
            said = f"a worker cannot load target_arch: {type(error).__name__}: {error}"
            hint = "install the same version on every computer"
            raise refusal("other-program", address, said, hint) from error
        others = sorted(worker for worker, digest in known.items() if digest != program)
        if others:
            said = f"worker {others[0]} has another program than this computer"
            hint = "install the same version of target_arch, of TVM and of all plug-ins on every computer"
            raise refusal("other-program", address, said, hint)


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


def evaluate(sent: SentTask, contents: Mapping[str, bytes]) -> PointOutcome | DiagnosticError:
    """Evaluate a task, at a worker."""
    try:
        return _evaluator()(_task(sent, contents))
    except DiagnosticError as error:
        return DiagnosticError(error.diagnostics)


def read(sent: SentTask, contents: Mapping[str, bytes]) -> DiagnosticError | None:
    """Read the models of a task, at a worker."""
    try:
        _evaluator().read(_task(sent, contents))
    except DiagnosticError as error:
        return DiagnosticError(error.diagnostics)
    return None


@cache
def _evaluator() -> Evaluator:
    """That of this process."""
    return Evaluator(PlugIns.discover(()))


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Where this process keeps files, as long as it lives."""
    return tempfile.TemporaryDirectory(prefix="target_arch-")


def _task(sent: SentTask, contents: Mapping[str, bytes]) -> PointTask:
    """The task with files of this worker."""
    models = {name: _written(digest, file, contents) for name, (file, digest) in sent.models.items()}
    chip = ChipFile(text=sent.text, shown=sent.shown, folder=File())
    named, digest = sent.costs
    if named:
        chip = chip.with_costs(str(_written(digest, File(named).name, contents)))
    return PointTask(
        chip=chip,
        models=models,
        mode=sent.mode,
        optimize=sent.optimize,
        objective=sent.objective,
        known=sent.known,
    )


def _written(digest: str, name: str, contents: Mapping[str, bytes]) -> File:
    """The content in a file of that name, written once, in a folder for its digest."""
    file = File(_folder().name) / digest / File(name).name
    if not file.is_file():
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(contents[digest])
    return file


def _died(error: BaseException) -> PointOutcome:
    """The outcome of a point with which workers ended again and again."""
    said = f"all workers ended with this point: {type(error).__name__}: {error}"
    return PointOutcome(status=Status.CRASHED, rule=PROCESS_ENDED, reason=said)


def _raise(answer: object) -> None:
    if isinstance(answer, DiagnosticError):
        raise answer
