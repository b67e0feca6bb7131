"""The report of a search: complete, sound and safe, whatever the search was."""

import json
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from nasgoat.bayesopt.evidence import STANDS_IN
from nasgoat.bayesopt.recommendation import LUCK
from nasgoat.errors import StudyError
from nasgoat.evaluation import Fidelities, Outcome
from nasgoat.figures.charts import Points
from nasgoat.integrations import StorageAddress
from nasgoat.integrations.stored_search import read_stored_search
from nasgoat.report import ReportedSearch, search_page
from nasgoat.report.model_charts import chart_hyperparameters, list_forecasts
from nasgoat.report.proposals import find_sqrt_beta
from nasgoat.report.search_charts import chart_proposals
from nasgoat.spaces import SearchSpace, molecules, nasbench101, nasbench201
from tests.report.documents import assert_sound
from tests.report.studies import OURS, RANDOM, hostile_space, made, store

BENCHMARK = {**OURS, "objective": {"benchmark": "nb201/cifar10", "noisy": False}}


def titles(html: str) -> list[str]:
    return ["".join(part.itertext()) for part in assert_sound(html).iter("h2")]


def test_a_search_has_every_section() -> None:
    run = made(nasbench201(), 12, failed={7: "no memory"})
    assert titles(search_page(run)) == [
        "The best graph",
        "History",
        "Proposals and certificates",
        "The surrogate over time",
        "Failures",
        "Gallery of graphs",
        "The search space",
        "Repeat this search",
    ]


def test_what_the_model_had_learnt_is_shown_and_said() -> None:
    page = search_page(made(nasbench201(), 12))  # rank correlations 0.1, 0.2, 0.3 and 0.4
    for name in ("model-correlation", "model-coverage", "model-calibration"):
        assert f'id="{name}' in page
    assert page.count("nothing learnt</span>") == 2  # the first batch
    assert "2 of 8 proposals come from a model that had learnt nothing" in page
    assert "at a bound of the fit: noise" in page


def test_why_nothing_is_proven_is_said_where_a_model_without_proofs_was_the_better_one() -> None:
    run = made(nasbench201(), 12)
    assert "Nothing is proven of" not in search_page(run)
    tickets = [
        replace(t, model=replace(t.model, response=STANDS_IN))
        if t.iteration == 3 and t.model
        else t
        for t in run.tickets
    ]
    page = search_page(replace(run, stored=replace(run.stored, tickets=tuple(tickets))))
    assert f"Nothing is proven of 2 of 8 proposals: {STANDS_IN}." in page


@pytest.mark.parametrize(
    ("kernel", "search", "fits"),
    [
        ("linear", "with the linear shortest-path kernel, 12", "of the linear kernel, after"),
        ("evidence", "kernels chosen by evidence, 12", "of the kernel that predicted best, after"),
    ],
)
def test_the_kernel_is_named_or_how_it_was_chosen(kernel: str, search: str, fits: str) -> None:
    settings = {**cast(dict[str, object], OURS["settings"]), "kernel": kernel}
    page = search_page(made(nasbench201(), 12, {**OURS, "settings": settings}))
    assert search in page
    assert f"Hyperparameters {fits} each fit." in page


NOISY = {**OURS, "objective": {"benchmark": "nb201/cifar100", "noisy": True}}


def observe(run: ReportedSearch, errors: dict[int, float], repeats: bool) -> ReportedSearch:
    """The same search with such errors; if asked, they are all of the first of these graphs."""
    tickets = list(run.tickets)
    for number, error in errors.items():
        graph = tickets[min(errors) if repeats else number].graph
        proposal = replace(tickets[number].proposal, graph=graph)
        outcome = Outcome.of({"error": error})
        tickets[number] = replace(tickets[number], proposal=proposal, outcome=outcome)
    return ReportedSearch(replace(run.stored, tickets=tuple(tickets)))


def read_facts(html: str) -> dict[str, tuple[str, str]]:
    parts = assert_sound(html).iter("dl")
    facts = next(part for part in parts if part.get("class") == "facts")
    found = {}
    for box in facts:
        name, value = box[0].text or "", box[1]
        found[name] = (value.text or "", value[0].text or "" if len(value) else "")
    return found


def test_one_noisy_observation_is_told_from_the_mean_that_regret_is_measured_on() -> None:
    run = observe(made(nasbench201(), 12, NOISY), {3: 0.5, 4: 0.6}, repeats=False)
    html, table = search_page(run), run.benchmark
    assert run.best is not None
    assert table is not None
    mean = table.mean_error(run.best.graph)
    facts = read_facts(html)
    assert facts[run.metric] == ("0.500", "observed once, evaluation 4")
    assert facts["mean of that graph"] == (f"{mean:.3f}", "all trainings of the table")
    assert facts["regret"] == (
        f"{mean - table.optimum:.3f}", f"of that mean; optimum {table.optimum:.3f}"
    )  # fmt: skip
    assert "that was observed is 0.500, in one noisy evaluation, evaluation 4." in html
    assert f"Over all trainings of the table the mean of that graph is {mean:.3f}." in html
    assert "lowest mean of the table" in html
    heads = ["".join(part.itertext()) for part in assert_sound(html).iter("th")]
    assert heads.index("observed error") < heads.index("mean error") < heads.index("regret")


def test_repeated_evaluations_show_their_mean_its_interval_and_the_lucky_one() -> None:
    errors = {3: 1.0, 4: 2.0, 5: 1.5, 6: 1.5}
    run = observe(made(nasbench201(), 12, NOISY), errors, repeats=True)
    html = search_page(run)
    spread = 2 * (0.5 / 3) ** 0.5 / 4**0.5  # two standard errors of the mean
    interval = f"{1.5 - spread:.3f} to {1.5 + spread:.3f}"
    facts = read_facts(html)
    assert facts[run.metric] == ("1.500", f"mean of 4; {interval}")
    assert facts["lowest observed"] == ("1.000", "one evaluation")
    assert f"1.500, the mean of 4 evaluations (two standard errors around it: {interval})" in html
    assert "1.000, 2.000, 1.500, 1.500" in html
    assert "mean of the recommended graph" in html
    assert html.count("mean of 4, first at evaluation 4") == 1  # drawn once in the gallery
    assert [round(e.error, 3) for e in run.recommendations[3:7]] == [1.0, 1.5, 1.5, 1.5]


def test_a_recommended_graph_that_was_evaluated_once_is_said_to_be_lucky() -> None:
    run = made(nasbench201(), 12, NOISY)
    often = search_page(observe(run, {3: 1.0, 4: 2.0, 5: 1.5, 6: 1.5}, repeats=True))
    assert LUCK not in often
    assert "hold no noise" in often  # what the deviations of forecasts are of
    page = search_page(observe(observe(run, {3: 5.0, 4: 5.1}, True), {7: 1.0}, False))
    assert f"The recommended graph was {LUCK}." in page


def test_a_search_without_noise_says_nothing_of_means() -> None:
    run = made(nasbench201(), 12, BENCHMARK)
    facts = read_facts(search_page(run))
    assert "mean of that graph" not in facts
    assert facts["regret"][1].startswith("optimum ")
    assert "noisy" not in search_page(run)


def test_a_study_of_an_earlier_version_says_nothing_of_models() -> None:
    run = made(nasbench201(), 12)
    tickets = [
        replace(t, model=None, proposal=replace(t.proposal, informed=None)) for t in run.tickets
    ]
    page = search_page(replace(run, stored=replace(run.stored, tickets=tuple(tickets))))
    assert "nothing learnt" not in page
    assert "model-correlation" not in page
    assert "The surrogate over time" in titles(page)


def test_a_chart_of_errors_that_stands_alone_has_the_whole_width() -> None:
    run = made(nasbench201(), 12)
    without = [replace(ticket, outcome=Outcome.of({"error": ticket.error})) for ticket in run.done]
    alone = replace(run, stored=replace(run.stored, tickets=tuple(without)))
    figures = [next(iter(assert_sound(search_page(x)).iter("figure"))) for x in (run, alone)]
    assert [figure.get("class") for figure in figures] == [None, "wide"]


@pytest.mark.parametrize("space", [nasbench101(), nasbench201(), molecules(), hostile_space()])
@pytest.mark.parametrize("declaration", [OURS, RANDOM], ids=["ours", "random"])
def test_any_space_and_method_gives_a_sound_page(
    space: SearchSpace, declaration: dict[str, object]
) -> None:
    run = made(space, 9, declaration, failed={6: "no memory"}, unfinished=1, gap=0.5)
    assert_sound(search_page(run))


def test_labels_reasons_and_commands_stay_text() -> None:
    attack = "<img src=x onerror=alert(1)> ]]> \x00 \u202e ${title}"
    run = made(hostile_space(), 8, failed={5: attack}, command=f"nasgoat {attack}")
    html = search_page(run)
    page = assert_sound(html)
    assert [script.text for script in page.iter("script")] != []
    assert len(list(page.iter("script"))) == 1
    assert "<img" not in html
    assert not {"\x00", "\u202e"} & set(html)
    assert "${title}" in html


@pytest.mark.parametrize("count", [0, 1, 4, 5])
def test_a_search_that_has_hardly_begun_can_be_reported(count: int) -> None:
    run = made(nasbench201(), count)
    assert "The search space" in titles(search_page(run))


def test_a_search_without_any_result_can_be_reported() -> None:
    html = search_page(made(nasbench201(), 3, unfinished=3))
    assert "Nothing has been evaluated yet" in html
    assert "not evaluated yet" in html


def test_a_search_of_failures_alone_can_be_reported(tmp_path: Path) -> None:
    run = made(nasbench201(), 3, failed=dict.fromkeys(range(3), "broken"), folder=tmp_path)
    (tmp_path / "result.json").write_text('{"stop": "failing", "evaluations": 0, "failed": 3}')
    assert "Failures" in titles(search_page(run))


def test_each_proposal_shows_posterior_bound_and_gap() -> None:
    run = made(nasbench201(), 8, gap=0.5)
    page = assert_sound(search_page(run))
    table = next(part for part in page.iter("table") if "LCB" in "".join(part.itertext()))
    heads = ["".join(th.itertext()) for th in table.iter("th") if th.get("scope") == "col"]
    rows = [["".join(cell.itertext()) for cell in row] for row in table.find("tbody") or []]
    last = dict(zip(heads, rows[-1], strict=True))
    assert last["mean"] == "0.000"
    assert last["sd"] == "0.500"
    assert last["√β"] == "3.00"
    assert last["LCB"] == "−1.500"
    assert last["bound"] == "−2.000"
    assert last["gap"] == "0.333"
    assert last["certificate"] == "feasible"
    assert len(rows) == 8


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ei", "(ei: −log of the expected improvement). Mean and sd are on the scale"),
        ("thompson", "(thompson: a function drawn from the posterior, a new one for each graph)"),
    ],
)
def test_values_of_other_acquisition_functions_are_no_lower_bounds(name: str, said: str) -> None:
    declaration = {**OURS, "settings": {"target": "rank", "acquisition": name}}
    run = made(nasbench201(), 8, declaration)
    html = search_page(run)
    assert said in html
    page = assert_sound(html)
    text = "".join(page.itertext())
    assert "LCB" not in text
    assert "√β" not in text
    table = next(part for part in page.iter("table") if "bound" in "".join(part.itertext()))
    heads = ["".join(th.itertext()) for th in table.iter("th") if th.get("scope") == "col"]
    assert heads[2:6] == ["mean", "sd", "value", "bound"]
    posterior, values = chart_proposals(run)[:2]
    assert [mark.name for mark in posterior.marks if isinstance(mark, Points)] == ["mean ± one sd"]
    assert [(mark.name, mark.y) for mark in values.marks if isinstance(mark, Points)] == [
        ("value", [-1.5] * 4),
        ("proven bound", [-1.5] * 4),
    ]
    assert f"({name})" in values.caption


def test_a_gap_is_that_of_the_function_which_is_minimised() -> None:
    declaration = {**OURS, "settings": {"target": "rank", "acquisition": "ei"}}
    for declared, said in ((OURS, "(LCB - bound)"), (declaration, "(value - bound)")):
        gaps = chart_proposals(made(nasbench201(), 8, declared, gap=0.5))[-1]
        assert gaps.caption.startswith(said)


def test_the_regret_comes_from_the_table() -> None:
    run = made(nasbench201(), 6, BENCHMARK)
    assert run.best is not None
    assert run.benchmark is not None
    assert run.measure_regret(run.best) == pytest.approx(
        run.benchmark.mean_error(run.best.graph) - run.benchmark.optimum
    )
    assert "Regret." in search_page(run)


def test_a_benchmark_that_is_not_there_costs_the_regret_alone() -> None:
    unknown = {**OURS, "objective": {"benchmark": "nb999", "noisy": False}}
    html = search_page(made(nasbench201(), 6, unknown))
    assert_sound(html)
    assert "Regret." not in html


def test_the_same_study_gives_the_same_file(tmp_path: Path) -> None:
    run = store(tmp_path, nasbench101(), 8, failed={6: "no memory"})
    again = ReportedSearch(
        read_stored_search(StorageAddress.of(tmp_path / "study.db"), "demo"), tmp_path
    )
    assert search_page(run) == search_page(again)


def test_160_evaluations_take_less_than_a_megabyte() -> None:
    run = made(nasbench101(), 160)
    html = search_page(run)
    assert_sound(html)
    assert len(html.encode()) < 1_000_000


def test_a_forecast_is_on_the_scale_of_what_was_known() -> None:
    run = made(nasbench201(), 8)
    assert [t.number for t, _ in list_forecasts(run)] == [4, 5, 6, 7]
    # The initial errors are 5, 6, 7 and 8: their normal scores are ±0.319 and ±1.150, and what
    # comes out above all of them counts as the highest.
    assert [round(value, 2) for _, value in list_forecasts(run)[:2]] == [1.15, 1.15]


def test_forecasts_of_promoted_graphs_are_on_the_scale_that_short_trainings_give() -> None:
    run = made(nasbench201(), 8)
    short, full = Fidelities.of("epochs=12,200")
    # Errors of short trainings: 5, 6, 7, 8; then the best of them in full, and others.
    graphs = [ticket.graph for ticket in run.tickets]
    levels = [(0, short), (1, short), (2, short), (3, short), (0, full), (1, full), (2, full)]
    tickets = [
        replace(t, iteration=i, proposal=replace(t.proposal, graph=graphs[which], fidelity=level))
        for i, (t, (which, level)) in enumerate(zip(run.tickets, levels, strict=False))
    ]
    stored = replace(run.stored, tickets=tuple(tickets))
    found = list_forecasts(ReportedSearch(stored))
    # One full error before the sixth, at -1.15 as it had looked after 12 epochs; two before the
    # seventh, at -1.15 and -0.32. Each is above all that were known.
    assert [(t.number, round(value, 2)) for t, value in found] == [(5, -1.15), (6, -0.32)]


def test_a_search_whose_evaluations_end_in_any_order_has_no_forecasts() -> None:
    assert list_forecasts(made(nasbench201(), 8, {**OURS, "asynchronous": True})) == []


def test_the_state_says_why_a_search_ended(tmp_path: Path) -> None:
    run = made(nasbench201(), 6, unfinished=2, folder=tmp_path)
    assert run.state == "stopped"
    result = {"stop": "interrupted", "evaluations": 4, "failed": 0}
    (tmp_path / "result.json").write_text(json.dumps(result))
    assert run.state == "interrupted"
    (tmp_path / "result.json").write_text(json.dumps({**result, "evaluations": 3}))
    assert run.state == "stopped"
    (tmp_path / "result.json").write_text("{")
    assert run.state == "stopped"
    running = replace(run.stored, status=replace(run.stored.status, running=True))
    assert ReportedSearch(running, tmp_path).state == "running"


@pytest.mark.parametrize("error", [0.0, -3.0, 1e99, 1e-99, 5e-324, 1.0])
def test_errors_of_any_size_can_be_drawn(error: float) -> None:
    run = made(nasbench201(), 8)
    outcomes = [Outcome.of({"error": error * scale}) for scale in (1, 1, 2, 1, 0, 3, 1, 1)]
    tickets = [replace(t, outcome=o) for t, o in zip(run.tickets, outcomes, strict=True)]
    html = search_page(ReportedSearch(replace(run.stored, tickets=tuple(tickets))))
    assert_sound(html)
    assert "nan" not in html
    assert "inf" not in html.replace("information", "")


def test_a_study_that_makes_no_sense_is_one_error() -> None:
    run = made(nasbench201(), 8)
    wrong = replace(run.tickets[6].proposal, mean="much")  # type: ignore[arg-type]
    tickets = (*run.tickets[:6], replace(run.tickets[6], proposal=wrong))
    with pytest.raises(StudyError, match="the study 'demo' must be sound, got"):
        search_page(ReportedSearch(replace(run.stored, tickets=tickets)))


def test_beta_is_what_the_acquisition_says() -> None:
    run = made(nasbench201(), 5)
    assert find_sqrt_beta(run.tickets[0]) is None
    assert find_sqrt_beta(run.tickets[4]) == pytest.approx(3.0)
    with pytest.raises(ValueError, match="must have an error"):
        _ = replace(run.tickets[4], outcome=None).error


def test_the_weight_of_a_block_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    fits = {1: {"alpha": 0.5, "operations": 0.7, "noise": 0.1}}
    monkeypatch.setattr(ReportedSearch, "fits", fits)
    said = [chart.caption for chart in chart_hyperparameters(made(nasbench201(), 12))]
    assert said[1] == "weighs how often each operation occurs."
