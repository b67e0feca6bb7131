"""optuna-dashboard shows a search: its trials' certificates and the pictures of their cells."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from optuna.artifacts import FileSystemArtifactStore

from nasgoat.cli import run

dashboard = pytest.importorskip("optuna_dashboard", reason='needs "nasgoat[dashboard]"')


def get(application: Any, path: str) -> tuple[str, dict[str, str], bytes]:
    """Status, headers and body of a request, without a network."""
    seen: list[Any] = []
    environment = {
        "REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": "", "wsgi.url_scheme": "http",
        "SERVER_NAME": "localhost", "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.input": io.BytesIO(), "wsgi.errors": io.StringIO(),
    }  # fmt: skip
    body = b"".join(
        application(environment, lambda status, headers, *_: seen.extend([status, headers]))
    )
    return seen[0], dict(seen[1]), body


def test_trials_show_their_certificate_and_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call = ["search", "--quiet", "--initial", "2", "--evaluations", "3", "--report", "run"]
    assert run(call) == 0
    store = FileSystemArtifactStore("run/artifacts")
    application = dashboard.wsgi("sqlite:///run/study.db", artifact_store=store)
    status, _, body = get(application, "/api/studies/1")
    assert status.startswith("200")
    trial = json.loads(body)["trials"][2]
    attributes = {entry["key"]: entry["value"] for entry in trial["user_attrs"]}
    assert json.loads(attributes["certificate"])["status"] == "optimal"
    assert "edges" in attributes["graph"]
    (picture,) = trial["artifacts"]
    assert picture["mimetype"] == "image/png"
    place = f"/artifacts/1/{trial['trial_id']}/{picture['artifact_id']}"
    status, headers, body = get(application, place)
    assert status.startswith("200")
    assert headers["Content-Type"] == "image/png"
    assert body.startswith(b"\x89PNG")
