"""``python -m nasgoat.evaluation``: a child process; see :mod:`nasgoat.evaluation.child`."""

from nasgoat.evaluation.child import main

main()
