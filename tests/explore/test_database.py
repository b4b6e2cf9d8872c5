"""Outcomes in a database: shared by programs, and messages without the password."""

from pathlib import Path

import pytest

from target_arch.backend.lowering import NotInstalled
from target_arch.diagnostics import DiagnosticError
from target_arch.explore.database import DatabaseStore
from target_arch.explore.outcome import PointOutcome, Status
from target_arch.explore.search import SpaceSearch
from target_arch.explore.store import Store
from target_arch.explore.stores import open_store
from tests.explore.in_process import InProcess, by_size, fits
from tests.explore.spaces import space

pytest.importorskip("sqlalchemy", reason="needs sqlalchemy: pip install 'target-arch[explore]'")

REFUSED = PointOutcome(status=Status.REFUSED, rule="does-not-fit", reason="step 1: error: no [does-not-fit]")


def test_two_programs_share_a_database(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/x.db"
    one, other = open_store(address), open_store(address)
    assert isinstance(one, DatabaseStore)
    assert one.get("a") is None
    one.add("a", fits(1.5, sram=3))
    other.add("a", REFUSED)
    other.add("b", REFUSED)
    assert other.get("a") == fits(1.5, sram=3)
    assert one.get("b") == REFUSED
    assert isinstance(open_store(tmp_path / "x.jsonl"), Store)
    assert isinstance(open_store(str(tmp_path / "x.jsonl")), Store)


def test_a_search_goes_on(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/x.db"
    first, second = InProcess(by_size), InProcess(by_size)
    made = SpaceSearch(space(), first, "p", DatabaseStore(address)).whole()
    assert SpaceSearch(space(), second, "p", DatabaseStore(address)).whole().outcomes == made.outcomes
    assert (len(first.asked), len(second.asked)) == (4, 0)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        (
            "://x",
            "database: error: this is no address of a database [not-a-store]\n"
            "hint: such as `sqlite:////home/me/outcomes.db` or `postgresql://user@host/name`",
        ),
        (
            "sqlite:////nowhere/at/all.db",
            "sqlite:////nowhere/at/all.db: error: the database fails: unable to open database file "
            "[store-unwritable]\nhint: what is stored stays: run again when it answers",
        ),
    ],
)
def test_what_is_no_database(address: str, said: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        DatabaseStore(address)
    assert str(caught.value) == said


def test_a_driver_that_is_not_there() -> None:
    with pytest.raises(NotInstalled) as caught:
        DatabaseStore("mysql+aiomysql://me:secret@host/name")
    assert str(caught.value) == (
        "database: error: the driver `aiomysql` of this database is not installed [missing-extra]\n"
        "hint: pip install aiomysql"
    )


def test_a_damaged_row_is_none(tmp_path: Path) -> None:
    store = DatabaseStore(f"sqlite:///{tmp_path}/x.db")
    with store._engine.begin() as connection:
        connection.execute(store._table.insert().values(key="a", outcome="{"))
    assert store.get("a") is None
