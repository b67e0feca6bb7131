"""Reports: one self-contained HTML file about a search or an experiment."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nasgoat.report.experiment_report import write_experiment_page
    from nasgoat.report.page import is_report, write_report
    from nasgoat.report.reported_search import ReportedSearch
    from nasgoat.report.search_report import search_page

# Imported when they are first used: a picture in a notebook needs neither studies nor experiments.
_HOME = {
    "ReportedSearch": "reported_search",
    "write_experiment_page": "experiment_report",
    "is_report": "page",
    "search_page": "search_report",
    "write_report": "page",
}
__all__ = ["ReportedSearch", "is_report", "search_page", "write_experiment_page", "write_report"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"nasgoat.report.{_HOME[name]}"), name)
    raise AttributeError(f"module 'nasgoat.report' has no attribute {name!r}")
