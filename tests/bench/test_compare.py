"""The parts of bench/compare that ask nobody: its world, how it times, and what it makes of figures."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench" / "compare"))

import measure  # noqa: E402 (bench/compare is no package)
import report  # noqa: E402
from systems.base import Bulk, Check, Lookup, Timing  # noqa: E402
from systems.program import line_of  # noqa: E402
from world import Described, generator, make_world  # noqa: E402


@pytest.fixture(scope="module")
def world():
    return make_world()


# ------------------------------------------------------------------- the world


def test_the_world_has_25_161_relationships_and_none_twice(world):
    assert len(world.relationships) == 25_161
    assert len(set(world.relationships)) == 25_161


def test_one_user_may_view_109_documents(world):
    question = world.scenarios["lookup"].repeated
    assert question.request == Lookup("document", "view", "user:u433")
    assert len(question.expected) == 109


def test_there_are_500_different_requests_of_each_kind(world):
    counts = {name: len({question.request for question in one.varied}) for name, one in world.scenarios.items()}
    assert counts == dict.fromkeys(("direct", "nested", "denied", "bulk", "lookup"), 500)


def test_half_of_each_bulk_check_is_allowed(world):
    questions = world.scenarios["bulk"].varied
    assert {(len(question.request.items), sum(question.expected)) for question in questions} == {(100, 50)}
    assert all(len(set(question.request.items)) == 100 for question in questions)


def test_what_a_user_may_view_is_what_the_generator_says_document_by_document():
    generate = generator()
    described = Described(generate)
    for user in (0, 5, 200, generate.READER, 999):
        expected = [document for document in range(generate.DOCUMENTS) if generate.may_view(user, document)]
        assert described.documents_of(user) == expected


def test_the_churn_and_the_small_writes_touch_no_document_of_the_world(world):
    documents = {row.partition("#")[0] for row in world.relationships}
    written = {row.partition("#")[0] for row in (*world.churn, world.small_write(1))}
    assert len(world.churn) == len(set(world.churn)) == 100_000
    assert not documents & written


def test_requests_are_told_to_programs_in_a_line_each():
    check = Check("document:d1", "view", "user:u2")
    assert line_of(check) == "check document:d1 view user:u2"
    assert line_of(Bulk((check, check))) == "bulk 2 document:d1 view user:u2 document:d1 view user:u2"
    assert line_of(Lookup("document", "view", "user:u2")) == "lookup document view user:u2"


# ------------------------------------------------------------------- timing


def test_quantiles_are_samples():
    ordered = list(range(1, 101))
    assert [measure.quantile(ordered, p) for p in (0, 0.5, 0.99, 1)] == [1, 50, 99, 100]
    assert measure.quantile([7], 0.99) == 7


def test_calls_of_less_than_two_microseconds_are_timed_in_batches_of_about_20():
    assert [measure.batch_of(ns) for ns in (100, 1_999, 2_000, 5_000_000)] == [200, 10, 1, 1]


def test_every_caller_asks_all_requests_in_turn_from_a_place_of_its_own():
    asked: list[list[int]] = [[], []]  # the first is also called to find out how long a call takes
    work = [(asked[caller].append, [(number,) for number in range(10)]) for caller in range(2)]
    timing = measure.time_threads(work, 0, 0.01)
    assert asked[1][0] == 5
    assert {(after - before) % 10 for before, after in zip(asked[1], asked[1][1:])} == {1}
    assert sum(map(len, asked)) >= timing.calls >= len(asked[1]) > 0
    assert timing.per_second > 0


def test_what_a_caller_raises_ends_the_timing():
    def refuse(_: int) -> None:
        raise ValueError("no answer")

    def accept(_: int) -> None:
        pass

    with pytest.raises(ValueError, match="no answer"):
        measure.time_threads([(accept, [(1,)]), (refuse, [(1,)])], 0, 5)


def test_a_timer_goes_on_with_the_requests_where_the_slice_before_ended():
    asked: list[int] = []
    timer = measure.Timer([(asked.append, [(number,) for number in range(10)])])
    asked.clear()
    first = timer.time(0, 0.002)
    at = len(asked)
    timer.time(0, 0.002)
    assert first.calls == at
    assert {(after - before) % 10 for before, after in zip(asked, asked[1:])} == {1}


def test_slices_come_to_the_medians_of_their_medians_and_the_mean_of_their_rates():
    slices = [Timing(median, 10 * median, 1e9 / median, 7, 3, walk) for median, walk in ((4, 2), (2, 1), (1000, 900))]
    assert measure.joined(slices) == Timing(4, 40, (0.25e9 + 0.5e9 + 1e6) / 3, 21, 3, 2)


# ------------------------------------------------------------------- the report


def figure(system: str, caller: str, median_ns: float, **place: object) -> report.Figure:
    where = {"phase": "idle", "callers": 1, "form": "varied", "scenario": "nested", "floor": "", **place}
    measured = {"median_ns": median_ns, "p99_ns": 2 * median_ns, "per_second": 1e9 / median_ns, "calls": 9, "batch": 1}
    return {**where, "system": system, "caller": caller, **measured}


def in_slices(one: report.Figure, *slices: float, walks: tuple[float, ...] = ()) -> report.Figure:
    """Timed in turns with others."""
    return {**one, "slices": list(slices), **({"walks": list(walks), "walk_ns": walks[0]} if walks else {})}


@pytest.fixture
def result():
    default = {"phase": "default"}
    figures = [
        figure("SELECT 1, prepared", "C", 50_000, floor="round_trip"),
        figure("SpiceDB, gRPC", "Python", 1_500_000),
        figure("licet", "Python", 75_000),
        figure("licet", "C", 60_000),
        figure("licet, prefetch", "C", 260_000),
        figure("an empty gRPC call", "Python", 300_000, scenario="", floor="empty_grpc"),
        figure("SpiceDB, gRPC", "Python", 900_000, **default),
        figure("licet", "Python", 2_000, **default),
        figure("licet", "C", 300, **default),
    ]
    return {
        "date": "2026-01-02T03:04:05+00:00",
        "command": "python bench/compare",
        "commit": "abc",
        "took_s": 65.4,
        "phases_s": {"opening": 12.4, "idle": 53},
        "placement": "Everything runs on a processor.",
        "machine": {"processor": "a processor", "processors": "2"},
        "versions": {"SpiceDB": "v1.56.2"},
        "settings": {
            "time_s": 5,
            "warmup_s": 2,
            "quick": False,
            "relationships": 25_161,
            "churn": 100_000,
            "requests": {"nested": 1000},
        },
        "unavailable": {"Cedar": "it is not installed"},
        "lacks": {"casbin": "It has no permissions."},
        "notes": ["A note of this run."],
        "figures": figures,
    }


def test_a_table_has_medians_and_ratios_to_spicedb_and_to_the_round_trip(result):
    lines = report.text_of(result).splitlines()
    at = lines.index("Full consistency, nothing else commits; one caller, varied requests")
    assert [line.split() for line in lines[at + 2 : at + 8]] == [
        ["nested", "SpiceDB,", "gRPC", "Python", "1.50", "ms", "3.00", "ms", "667", "1.00", "30.0"],
        ["licet", "Python", "75.0", "us", "150", "us", "13,333", "20.0", "1.50"],
        ["licet", "C", "60.0", "us", "120", "us", "16,667", "25.0", "1.20"],
        ["licet,", "prefetch", "C", "260", "us", "520", "us", "3,846", "5.77", "5.20"],
        ["SELECT", "1,", "prepared", "C", "50.0", "us", "100", "us", "20,000", "1.00"],
        ["floors", "an", "empty", "gRPC", "call", "Python", "300", "us", "600", "us", "3,333"],
    ]


def test_bounds_are_held_or_missed_by_the_printed_figures(result):
    lines = [" ".join(line.split()) for line in report.text_of(result).splitlines()]
    assert "licet from Python, idle, nested 20.0 >= 5.00 held" in lines
    assert "licet from Python, default, nested 450 >= 500 MISSED" in lines
    assert "from C, following Postgres, nested: ns 300 <= 500 held" in lines
    assert "from Python, default, nested: ns over C for each answer 1,700 <= 250 MISSED" in lines
    assert "from C, full: round trips, nested 1.20 <= 1.50 held" in lines
    assert "from C, prefetching: round trips, nested 5.20 <= 5.00 MISSED" in lines
    assert "5 held, 3 missed" in lines


def claims(result: report.Result, *figures: report.Figure) -> list[str]:
    """The lines about bounds, of these figures alone."""
    return [" ".join(line.split()) for line in report.bounds({**result, "figures": list(figures)})]


def test_from_c_it_is_walks_of_the_same_moments_that_are_judged_and_times_stand_beside(result):
    direct = figure("licet", "C", 200, phase="default", scenario="direct")
    lines = claims(result, in_slices(direct, 200, 200, 120, walks=(50, 50, 30)))
    assert "from C, following Postgres, direct: walks 4.00 <= 4.29 held" in lines
    assert "from C, following Postgres, direct: ns 200 <= 150 (missed)" in lines
    assert "0 of 1 held in ns" in lines
    assert lines[-1] == "1 held, 0 missed"
    lines = claims(result, in_slices({**direct, "median_ns": 140}, 140, 140, 140, walks=(30, 30, 30)))
    assert "from C, following Postgres, direct: walks 4.67 <= 4.29 MISSED" in lines
    assert "from C, following Postgres, direct: ns 140 <= 150 (held)" in lines
    assert lines[-1] == "0 held, 1 missed"


@pytest.mark.parametrize(
    ("scenario", "walks"), [("direct", 4.29), ("nested", 10.9), ("denied", 10.9), ("bulk", 3.57), ("lookup", 100)]
)
def test_the_bounds_in_walks_are_those_in_nanoseconds_over_the_walks_of_the_machine_they_were_set_on(
    result, scenario, walks
):
    lines = claims(result, in_slices(figure("licet", "C", 1, phase="default", scenario=scenario), 1, 1, walks=(1, 1)))
    assert f"from C, following Postgres, {scenario}: walks 1.00 <= {report.digits(walks)} held" in lines


def test_an_engine_in_memory_has_the_same_bounds_as_one_that_follows_postgres(result):
    direct = figure("licet, in memory", "C", 130, phase="default", scenario="direct")
    lines = claims(result, in_slices(direct, 130, 130, walks=(26, 26)))
    assert "from C, in memory, direct: walks 5.00 <= 4.29 MISSED" in lines
    assert "from C, in memory, direct: ns 130 <= 150 (held)" in lines


def test_round_trips_are_counted_slice_by_slice(result):
    lines = claims(
        result,
        in_slices(figure("SELECT 1, prepared", "C", 9_000, floor="round_trip"), 90_000, 9_000, 9_000),
        in_slices(figure("licet", "C", 99_000), 99_000, 11_000, 12_600),
    )
    assert "from C, full: round trips, nested 1.22 <= 1.50 held" in lines


def test_what_is_not_of_the_same_moments_is_compared_by_its_medians(result):
    lines = claims(
        result,
        in_slices(figure("SELECT 1, prepared", "C", 50_000, floor="round_trip"), 50_000, 50_000),
        in_slices(figure("licet", "C", 100_000), 100_000, 100_000, 200_000),
    )
    assert "from C, full: round trips, nested 2.00 <= 1.50 MISSED" in lines


def test_python_and_lua_may_take_250_ns_more_than_c_in_the_same_moments(result):
    lines = claims(
        result,
        in_slices(figure("licet", "C", 300, phase="default"), 300, 600, 900),
        in_slices(figure("licet", "Python", 400, phase="default"), 400, 700, 2_000),
        in_slices(figure("licet", "LuaJIT", 700, phase="default"), 551, 851, 1_151),
    )
    assert "from Python, default, nested: ns over C for each answer 100 <= 250 held" in lines
    assert "from LuaJIT, default, nested: ns over C for each answer 251 <= 250 MISSED" in lines


def test_after_the_churn_times_are_those_of_an_engine_whose_database_was_spared(result):
    churned = {"phase": "churned"}
    lines = claims(
        result,
        in_slices(figure("licet", "C", 80_000, **churned), 80_000, 140_000, 80_000),
        in_slices(figure("licet, no churn", "C", 80_000, **churned), 80_000, 100_000, 64_000),
        figure("licet", "C", 8_000),
    )
    assert "from C, full, nested: after the churn, times without 1.25 <= 1.20 MISSED" in lines


def test_the_walk_is_a_row_of_the_table_at_the_default_consistency(result):
    walked = in_slices(figure("licet", "C", 300, phase="default"), 300, 300, walks=(50, 60))
    lines = report.table([walked], {"phase": "default", "callers": 1, "form": "varied"})
    assert [line.split() for line in lines] == [
        ["system", "from", "median", "p99", "calls/s", "SpiceDB/it", "walks"],
        ["nested", "licet", "C", "300", "ns", "600", "ns", "3,333,333", "5.50"],
        ["a", "walk", "by", "hand", "C", "50.0", "ns", "1.00"],
    ]


def test_the_report_says_where_callers_ran_and_what_took_how_long(result):
    lines = report.text_of(result).splitlines()
    assert "took opening 12 s, idle 53 s" in lines
    assert "Everything runs on a processor." in lines


def test_slices_are_spread_evenly_before_between_and_after_the_others():
    assert [measure.spread_over(count, parts) for count, parts in ((5, 1), (5, 2), (7, 3), (2, 4))] == [
        [5],
        [2, 3],
        [2, 2, 3],
        [0, 1, 0, 1],
    ]


def test_the_report_names_what_was_not_there_and_what_can_not_be_expressed(result):
    lines = report.text_of(result).splitlines()
    assert "  - Cedar: it is not installed" in lines
    assert "  - casbin: It has no permissions." in lines
    assert "  - A note of this run." in lines


@pytest.mark.parametrize(
    ("ns", "text"),
    [(0.5, "0.50 ns"), (999, "999 ns"), (1_000, "1.00 us"), (12_345, "12.3 us"), (999_900, "1.00 ms"), (2e9, "2.00 s")],
)
def test_times_are_told_in_three_digits(ns, text):
    assert report.time_of(ns) == text
