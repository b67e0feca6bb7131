"""The command line. Modules of nasgoat are imported inside the verbs: ``--help`` stays fast."""

from nasgoat.cli.app import main

__all__ = ["main"]
