"""A real PostgreSQL on loopback for the tests, started and stopped by a fixture."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

PASSWORD = "s3cret-of-the-test"  # noqa: S105 the server lives for the tests alone


def _programs() -> Path | None:
    """The folder of PostgreSQL's server programs; Debian keeps them off the path."""
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (folder / "initdb").exists():
            return folder
    found = shutil.which("initdb")
    return Path(found).parent if found else None


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, cwd="/")


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of an empty database, password included."""
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    as_owner: list[str] = []
    if os.geteuid() == 0:  # the server refuses to run as root
        try:
            pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL needs a user postgres when the tests run as root")
        as_owner = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    folder = Path(tempfile.mkdtemp(prefix="nasgoat-pg-"))  # pytest's folders are root's alone
    data, secret = folder / "data", folder / "secret"
    secret.write_text(PASSWORD)
    if as_owner:
        shutil.chown(folder, "postgres")
        shutil.chown(secret, "postgres")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
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
