"""A real PostgreSQL on loopback, started for the occasion and stopped after it."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

PASSWORD = "s3cret-of-the-test"  # noqa: S105 the server lives for the tests alone


class NoPostgresError(Exception):
    """PostgreSQL can't be started here; the message says why."""


@contextlib.contextmanager
def running_postgres() -> Iterator[str]:
    """The URL of an empty database, password included."""
    programs, as_owner = _programs(), _owner()
    folder = Path(tempfile.mkdtemp(prefix="nasgoat-pg-"))  # pytest's folders are root's alone
    data, secret = folder / "data", folder / "secret"
    secret.write_text(PASSWORD)
    if as_owner:
        shutil.chown(folder, "postgres")
        shutil.chown(secret, "postgres")
    port = _free_port()
    start = [str(programs / "initdb"), "-D", str(data), "-A", "scram-sha-256", "-U", "goat"]
    _run([*as_owner, *start, f"--pwfile={secret}", "--no-sync"])
    control = [*as_owner, str(programs / "pg_ctl"), "-D", str(data), "-w"]
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder}"
    _run([*control, "-l", str(folder / "log"), "-o", options, "start"])
    try:
        yield f"postgresql://goat:{PASSWORD}@127.0.0.1:{port}/postgres"
    finally:
        _run([*control, "-m", "immediate", "stop"])
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path:
    """The folder of PostgreSQL's server programs; Debian keeps them off the path."""
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (folder / "initdb").exists():
            return folder
    found = shutil.which("initdb")
    if found is None:
        raise NoPostgresError("PostgreSQL is not installed: apt-get install postgresql")
    return Path(found).parent


def _owner() -> list[str]:
    """What runs a command as another user: the server refuses to run as root."""
    if os.geteuid() != 0:
        return []
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        raise NoPostgresError("PostgreSQL needs a user postgres when root starts it") from None
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, cwd="/")
