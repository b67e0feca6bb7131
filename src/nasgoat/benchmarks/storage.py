"""Where imported tables are kept."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def data_folder() -> Path:
    """The folder of benchmark tables: ``NASGOAT_DATA``, or one in the user's cache directory."""
    named = os.environ.get("NASGOAT_DATA")
    return Path(named) if named else Path(platformdirs.user_cache_dir("nasgoat")) / "data"
