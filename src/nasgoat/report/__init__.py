"""Reports: one self-contained HTML file about a search or an experiment."""

from nasgoat.report.experiment_report import experiment_page
from nasgoat.report.page import is_report, write_report
from nasgoat.report.reported_search import ReportedSearch
from nasgoat.report.search_report import search_page

__all__ = ["ReportedSearch", "experiment_page", "is_report", "search_page", "write_report"]
