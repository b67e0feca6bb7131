"""``python -m nasgoat``."""

from nasgoat.cli import main

if __name__ == "__main__":
    main()
