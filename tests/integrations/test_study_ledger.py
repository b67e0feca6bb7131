"""Studies in SQLite and PostgreSQL: resume, locks, damage, outages."""

import json
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import optuna
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from nasgoat import LabeledGraph, Optimizer
from nasgoat.bayesopt import Driver, Ledger, MemoryLedger, Plan, SearchResult
from nasgoat.errors import StorageError, StudyError
from nasgoat.evaluation import Inline
from nasgoat.integrations import StorageAddress, StudyLedger
from nasgoat.integrations.storages import mask_passwords, write_persistently
from nasgoat.integrations.stored_search import list_studies, read_status
from nasgoat.spaces import NodeLabeledSpace

SPACE = NodeLabeledSpace((2, 5), ["a", "b"], max_edges=6)
DECLARATION = {"seed": 0, "settings": {"kernel": "linear"}}


def error(graph: LabeledGraph) -> float:
    return 3.0 + len(graph.edges) + 0.5 * (graph.node_labels or ()).count("a")


def run(ledger: Ledger, evaluations: int, objective: Callable[..., float] = error) -> SearchResult:
    asker = Optimizer(SPACE, initial=4)
    return Driver(asker, Inline(objective), Plan(evaluations, 3), ledger).run()


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StorageAddress]:
    if request.param == "sqlite":
        yield StorageAddress.of(tmp_path / "study.db")
    else:
        yield StorageAddress.of(request.getfixturevalue("postgres"))


@pytest.fixture
def name() -> str:
    return f"study-{uuid.uuid4().hex[:8]}"


def test_a_killed_search_resumes_with_the_same_proposals(
    address: StorageAddress, name: str
) -> None:
    whole = run(MemoryLedger(), 12)
    calls = 0

    def dies_at_the_sixth(graph: LabeledGraph) -> float:
        nonlocal calls
        calls += 1
        if calls == 6:
            raise KeyboardInterrupt
        return error(graph)

    with StudyLedger(address, name, SPACE, DECLARATION) as ledger, pytest.raises(KeyboardInterrupt):
        run(ledger, 12, dies_at_the_sixth)
    assert read_status(address, name).open == 2
    with StudyLedger(address, name, SPACE, DECLARATION) as ledger:
        resumed = run(ledger, 12)
    assert [e.graph for e in resumed.evaluations] == [e.graph for e in whole.evaluations]
    assert [e.metrics for e in resumed.evaluations] == [e.metrics for e in whole.evaluations]
    assert resumed.models == whole.models
    assert len(whole.models) == 3
    informed = [e.proposal.informed for e in whole.evaluations]
    assert informed[:4] == [None] * 4
    assert [e.proposal.informed for e in resumed.evaluations] == informed
    study = optuna.load_study(study_name=name, storage=address.full)
    states = [trial.state.name for trial in study.trials]
    assert states.count("COMPLETE") == 12
    assert states.count("FAIL") == 2  # the orphans, evaluated again under other trials
    assert study.best_value == resumed.best.error


def test_a_second_driver_is_refused_until_the_first_is_gone(
    address: StorageAddress, name: str
) -> None:
    with StudyLedger(address, name, SPACE, DECLARATION):
        for _ in range(5):
            with pytest.raises(StudyError, match="must have one driver"):
                StudyLedger(address, name, SPACE, DECLARATION)
        assert read_status(address, name).running
    assert not read_status(address, name).running
    StudyLedger(address, name, SPACE, DECLARATION).close()


def test_a_driver_that_is_killed_is_named_while_it_lives_and_then_succeeded(tmp_path: Path) -> None:
    address = StorageAddress.of(tmp_path / "study.db")
    script = (
        "import sys, time\n"
        "from nasgoat.integrations import StorageAddress, StudyLedger\n"
        "from nasgoat.spaces import NodeLabeledSpace\n"
        "space = NodeLabeledSpace((2, 5), ['a', 'b'], max_edges=6)\n"
        f"address = StorageAddress.of({str(address.path)!r})\n"
        f"ledger = StudyLedger(address, 's', space, {DECLARATION})\n"
        "print('driving', flush=True)\n"
        "time.sleep(600)\n"
    )
    driver = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    try:
        assert driver.stdout is not None
        assert driver.stdout.readline() == b"driving\n"
        with pytest.raises(StudyError, match=rf"wait for the first, process {driver.pid} on "):
            StudyLedger(address, "s", SPACE, DECLARATION)
    finally:
        driver.kill()
        driver.communicate()
    StudyLedger(address, "s", SPACE, DECLARATION).close()


def test_another_declaration_is_refused_with_the_difference(
    address: StorageAddress, name: str
) -> None:
    StudyLedger(address, name, SPACE, DECLARATION).close()
    with pytest.raises(StudyError, match="seed was 0, asked 1"):
        StudyLedger(address, name, SPACE, {**DECLARATION, "seed": 1})
    with pytest.raises(StudyError, match=r"settings.kernel was 'linear', asked 'exponential'"):
        StudyLedger(address, name, SPACE, {**DECLARATION, "settings": {"kernel": "exponential"}})
    with pytest.raises(StudyError, match=r"space.max_edges was 6, asked 5"):
        other = NodeLabeledSpace((2, 5), ["a", "b"], max_edges=5)
        StudyLedger(address, name, other, DECLARATION)
    StudyLedger(address, name, SPACE, DECLARATION).close()


def test_a_study_of_somebody_else_is_refused(address: StorageAddress, name: str) -> None:
    theirs = optuna.create_study(study_name=name, storage=address.full)
    theirs.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    with pytest.raises(StudyError, match="must be one of nasgoat search"):
        StudyLedger(address, name, SPACE, DECLARATION)
    maximising = f"{name}-max"
    optuna.create_study(study_name=maximising, storage=address.full, direction="maximize")
    with pytest.raises(StudyError, match="must minimise"):
        StudyLedger(address, maximising, SPACE, DECLARATION)


def test_trials_carry_certificate_and_picture(address: StorageAddress, name: str) -> None:
    with StudyLedger(address, name, SPACE, DECLARATION) as ledger:
        run(ledger, 7)
    study = optuna.load_study(study_name=name, storage=address.full)
    trial = study.trials[-1]
    assert trial.user_attrs["certificate"]["status"] == "optimal"
    assert LabeledGraph.from_json(trial.user_attrs["graph"]) in SPACE
    metas = optuna.artifacts.get_all_artifact_meta(trial, storage=study._storage)
    assert [meta.mimetype for meta in metas] == ["image/png"]
    assert name in list_studies(address)


@pytest.mark.parametrize("damage", ["empty", "text", "cut", "overwritten", "other", "folder"])
def test_a_damaged_file_is_named_and_left_alone(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    address = StorageAddress.of(path)
    with StudyLedger(address, "s", SPACE, DECLARATION) as ledger:
        run(ledger, 5)
    content = path.read_bytes()
    if damage == "empty":
        path.write_bytes(b"")
    elif damage == "text":
        path.write_text("not a database\n" * 100)
    elif damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "overwritten":
        path.write_bytes(content[:4096] + b"\xff" * 8192 + content[12288:])
    else:
        path.unlink()
        if damage == "folder":
            path.mkdir()
        else:
            sqlite3.connect(path).executescript("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StudyError, match=r"must|sound"):
        StudyLedger(address, "s", SPACE, DECLARATION)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_study_without_models_is_read(tmp_path: Path) -> None:
    address = StorageAddress.of(tmp_path / "study.db")
    with StudyLedger(address, "s", SPACE, DECLARATION) as ledger:
        run(ledger, 7)
    with sqlite3.connect(address.path) as connection:
        kept = connection.execute(
            "SELECT trial_user_attribute_id, value_json FROM trial_user_attributes "
            "WHERE key = 'ticket'"
        ).fetchall()
        assert len(kept) == 7
        for row, text in kept:
            own = json.loads(text)
            del own["model"], own["informed"]
            connection.execute(
                "UPDATE trial_user_attributes SET value_json = ? WHERE trial_user_attribute_id = ?",
                (json.dumps(own), row),
            )
    with StudyLedger(address, "s", SPACE, DECLARATION) as ledger:
        assert [ticket.model for ticket in ledger.tickets()] == [None] * 7
        assert len(run(ledger, 10).models) == 1


def test_a_value_that_was_changed_behind_our_back_is_noticed(tmp_path: Path) -> None:
    address = StorageAddress.of(tmp_path / "study.db")
    with StudyLedger(address, "s", SPACE, DECLARATION) as ledger:
        run(ledger, 5)
    with sqlite3.connect(address.path) as connection:
        connection.execute("UPDATE trial_values SET value = value + 1 WHERE trial_value_id = 2")
    ledger = StudyLedger(address, "s", SPACE, DECLARATION)
    with pytest.raises(StudyError, match="another value than its metrics say"):
        ledger.tickets()
    ledger.close()


def test_a_locked_database_is_tried_again_and_a_full_disk_is_not() -> None:
    calls: list[str] = []

    def write(message: str, times: int) -> str:
        calls.append(message)
        if len(calls) <= times:
            raise OperationalError("UPDATE", {}, sqlite3.OperationalError(message))
        return "kept"

    assert write_persistently(lambda: write("database is locked", 3)) == "kept"
    assert len(calls) == 4
    calls.clear()
    with pytest.raises(StorageError, match="disk is full"):
        write_persistently(lambda: write("database or disk is full", 3))
    assert len(calls) == 1
    calls.clear()
    with pytest.raises(StorageError, match="locked"):
        write_persistently(lambda: write("database is locked", 10**6), patience=0.2)


def test_a_lost_connection_costs_nothing(postgres: str, name: str) -> None:
    address = StorageAddress.of(postgres)
    engine = create_engine(address.full, isolation_level="AUTOCOMMIT")
    calls = 0

    def cuts_connections(graph: LabeledGraph) -> float:
        nonlocal calls
        calls += 1
        if calls % 3 == 0:
            with engine.connect() as connection:
                connection.execute(
                    text(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                        "WHERE pid <> pg_backend_pid() AND datname = 'postgres'"
                    )
                )
        return error(graph)

    with StudyLedger(address, name, SPACE, DECLARATION) as ledger:
        result = run(ledger, 12, cuts_connections)
    assert len(result.evaluations) == 12
    assert read_status(address, name).complete == 12
    assert len(optuna.load_study(study_name=name, storage=address.full).trials) == 12
    engine.dispose()


def test_a_password_of_one_letter_is_masked_in_addresses_alone() -> None:
    address = "postgresql://ann:e@db.example/runs"
    StorageAddress.of(address)
    said = mask_passwords(f"the server {address} never answered")
    assert said == "the server postgresql://ann:***@db.example/runs never answered"


def test_passwords_are_masked(postgres: str) -> None:
    address = StorageAddress.of(postgres)
    assert "s3cret" in address.full
    assert "s3cret" not in f"{address} {address!r}"
    wrong = StorageAddress.of(postgres.replace("s3cret-of-the-test", "s3cret-but-wrong"))
    with pytest.raises((StorageError, StudyError)) as caught:
        StudyLedger(wrong, "s", SPACE, DECLARATION)
    assert "s3cret" not in str(caught.value)
