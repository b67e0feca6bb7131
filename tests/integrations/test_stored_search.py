"""A stored search is read back whole, from SQLite and PostgreSQL, and its password stays secret."""

from pathlib import Path

import pytest

from nasgoat import LabeledGraph, Settings, search
from nasgoat.bayesopt import MemoryLedger
from nasgoat.cli import run
from nasgoat.errors import SettingError, StudyError
from nasgoat.integrations import StorageAddress, StudyLedger
from nasgoat.integrations.stored_search import list_studies, read_status, read_stored_search
from nasgoat.spaces import nasbench201
from tests.postgres_server import PASSWORD
from tests.report.studies import OURS, made, store


def test_tickets_come_back_as_they_were_kept(tmp_path: Path) -> None:
    found = store(tmp_path, nasbench201(), 6, failed={2: "broken"}, unfinished=1).stored
    assert list(found.tickets) == list(
        made(nasbench201(), 6, failed={2: "broken"}, unfinished=1).tickets
    )
    assert found.space == nasbench201()
    assert found.version == "0.1.0"
    assert found.started is not None
    assert found.ended is not None
    assert found.started <= found.ended
    assert (found.status.complete, found.status.failed, found.status.open) == (4, 1, 1)


def test_what_a_dead_driver_left_is_counted_once(tmp_path: Path) -> None:
    address = StorageAddress.of(tmp_path / "study.db")
    kept = made(nasbench201(), 3, unfinished=3).tickets
    with StudyLedger(address, "demo", nasbench201(), OURS) as ledger:
        ledger.propose(kept)
    with StudyLedger(address, "demo", nasbench201(), OURS) as ledger:
        ledger.requeue(ledger.tickets())
    found = read_stored_search(address, "demo")
    assert found.tickets == tuple(kept)
    assert found.orphans == 3


def test_a_study_of_somebody_else_is_refused(tmp_path: Path) -> None:
    import optuna

    path = tmp_path / "study.db"
    optuna.create_study(storage=f"sqlite:///{path}", study_name="theirs")
    with pytest.raises(StudyError, match="must be one of nasgoat search"):
        read_stored_search(StorageAddress.of(path), "theirs")


def test_a_report_from_postgresql_does_not_tell_the_password(
    postgres: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = StorageAddress.of(postgres)
    with StudyLedger(address, "in postgres", nasbench201(), OURS) as ledger:
        ledger.note({"evaluations": 5, "command": "nasgoat search", "version": "0.1.0"})
        ledger.propose(made(nasbench201(), 5, unfinished=5).tickets)
    target = tmp_path / "report.html"
    call = ["report", "--storage", postgres, "--study", "in postgres", "--output", str(target)]
    assert run([*call, "--json"]) == 0
    printed = capsys.readouterr()
    html = target.read_text()
    assert "postgresql+psycopg://goat:***@127.0.0.1" in html
    assert PASSWORD not in html + printed.out + printed.err


def train(cell: LabeledGraph) -> float:
    return 5.0 + len(cell.edges)


def test_a_search_with_a_storage_goes_on_where_it_stopped(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    trained: list[LabeledGraph] = []

    def counting(cell: LabeledGraph) -> float:
        trained.append(cell)
        return train(cell)

    search(counting, "nb201", evaluations=12, initial=6, storage=url, study="s")
    result = search(counting, "nb201", evaluations=17, initial=6, storage=url, study="s")
    assert len(result.evaluations) == len(trained) == 17
    unbroken = search(train, "nb201", evaluations=17, initial=6)
    assert [e.graph for e in result.evaluations] == [e.graph for e in unbroken.evaluations]
    assert len(search(counting, "nb201", 17, initial=6, storage=url, study="s").evaluations) == 17
    assert len(trained) == 17
    status = read_status(StorageAddress.of(url), "s")
    assert (status.finished, status.complete, status.budget) == (True, 17, 17)
    assert list_studies(StorageAddress.of(url)) == ["s"]


@pytest.mark.parametrize("name", ["ei", "thompson"])
def test_a_stored_search_by_another_acquisition_goes_on(tmp_path: Path, name: str) -> None:
    url, settings = f"sqlite:///{tmp_path / 'x.db'}", Settings(acquisition=name)
    for evaluations in (8, 13):
        stored = search(train, "nb201", evaluations, initial=6, settings=settings, storage=url)
    unbroken = search(train, "nb201", 13, initial=6, settings=settings)
    assert [e.graph for e in stored.evaluations] == [e.graph for e in unbroken.evaluations]
    with pytest.raises(StudyError, match=f"settings.acquisition was '{name}', asked None"):
        search(train, "nb201", 13, initial=6, storage=url)


def test_a_stored_search_is_refused_with_other_values_or_another_ledger(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    search(train, "nb201", evaluations=5, initial=5, storage=path)
    with pytest.raises(StudyError, match="seed was 0, asked 1"):
        search(train, "nb201", evaluations=5, initial=5, seed=1, storage=path)
    with pytest.raises(StudyError, match=r"objective\.objective was .*train', asked"):
        search(len, "nb201", evaluations=5, initial=5, storage=path)
    with pytest.raises(SettingError, match="study must come with storage, got 's' alone"):
        search(train, "nb201", study="s")
    with pytest.raises(SettingError, match="storage must come without a ledger"):
        search(train, "nb201", storage=path, ledger=MemoryLedger())
