"""Outcomes in a database by key, for runs on several computers: one row for each, written once.

The address is SQLAlchemy's, as Optuna's storages have it: `postgresql://USER@HOST/NAME`, `sqlite:///FILE`.
Tests: `tests/explore/test_database.py`.
"""

import json
from importlib import import_module
from typing import Any

from target_arch.backend.lowering import NotInstalled
from target_arch.diagnostics import Diagnostic, DiagnosticError, refusal
from target_arch.explore.outcome import PointOutcome

_PLACE = "database"
_TABLE, _KEY = "target_arch_outcomes", 32


class DatabaseStore:
    """A table of a database, which is made where it is absent. Two programs that add one key agree: outcomes
    follow from it.
    """

    def __init__(self, address: str) -> None:
        """Connect. Raises NotInstalled without SQLAlchemy or the database's driver, and DiagnosticError where
        the database does not answer.
        """
        self._sql = sql = _sqlalchemy()
        self._errors = sql.exc.SQLAlchemyError
        try:
            self._shown = sql.engine.make_url(address).render_as_string(hide_password=True)
            self._engine = sql.create_engine(address)
        except self._errors as error:
            hint = "such as `sqlite:////home/me/outcomes.db` or `postgresql://user@host/name`"
            raise refusal("not-a-store", _PLACE, "this is no address of a database", hint) from error
        except ImportError as error:
            raise _missing(
                f"the driver `{error.name}` of this database", f"pip install {error.name}"
            ) from error
        self._table = sql.Table(
            _TABLE,
            sql.MetaData(),
            sql.Column("key", sql.String(_KEY), primary_key=True),
            sql.Column("outcome", sql.Text, nullable=False),
        )
        self._done(lambda connection: self._table.create(connection, checkfirst=True))

    def get(self, key: str) -> PointOutcome | None:
        """The outcome of a key; None where it is not known. Raises DiagnosticError where the database
        fails.
        """
        chosen = self._sql.select(self._table.c.outcome).where(self._table.c.key == key)
        text = self._done(lambda connection: connection.execute(chosen).scalar())
        try:
            return None if text is None else PointOutcome.from_json(json.loads(text))
        except (ValueError, KeyError, TypeError):
            return None

    def add(self, key: str, outcome: PointOutcome) -> None:
        """Add an outcome, unless it is there. It is committed from here on. Raises DiagnosticError where the
        database fails.
        """
        row = self._table.insert().values(key=key, outcome=json.dumps(outcome.to_json(), sort_keys=True))
        if self.get(key) is not None:
            return
        try:
            with self._engine.begin() as connection:
                connection.execute(row)
        except self._sql.exc.IntegrityError:
            return  # another program was first
        except self._errors as error:
            raise self._failed(error) from error

    def _done(self, act: Any) -> Any:
        try:
            with self._engine.begin() as connection:
                return act(connection)
        except self._errors as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> DiagnosticError:
        said = str(getattr(error, "orig", None) or error).strip().splitlines()[0].lower()
        hint = "what is stored stays: run again when it answers"
        return refusal("store-unwritable", self._shown, f"the database fails: {said}", hint)


def _sqlalchemy() -> Any:
    try:
        return import_module("sqlalchemy")
    except ImportError as error:
        raise _missing("package `sqlalchemy`", "pip install 'target-arch[explore]'") from error


def _missing(what: str, hint: str) -> NotInstalled:
    said = f"{what} is not installed"
    return NotInstalled([Diagnostic(rule="missing-extra", place=_PLACE, message=said, hint=hint)])
