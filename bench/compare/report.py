"""What a run has found, as text: a table for each state of affairs, the medians at a glance, and what had to hold.

Works on the dictionary that is also written as JSON, and on nothing else.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Figure = dict[str, Any]
Result = dict[str, Any]

PHASES = {
    "idle": "Full consistency, nothing else commits",
    "writes": "Full consistency, one small write a second",
    "default": "Default consistency: a snapshot up to 5 s old",
    "churned": "Full consistency, after much was granted and revoked",
}
SCENARIOS = ("direct", "nested", "denied", "bulk", "lookup")
FORMS = ("repeated", "varied")
CALLERS = (1, 8)

PEER = "SpiceDB, gRPC"  # of its callers, the quickest
ROUND_TRIP = "round_trip"
WIDTH = 110

# Against SpiceDB over gRPC: at least so many times faster.
TIMES_FULL = {"direct": 3.0, "nested": 5.0, "denied": 5.0, "bulk": 5.0, "lookup": 10.0}
TIMES_DEFAULT = {"direct": 500.0, "nested": 500.0, "denied": 500.0, "bulk": 500.0, "lookup": 100.0}

# At most, of one caller. From C at the default consistency: ns. In prefetch mode: round trips.
C_NS = {"direct": 150.0, "nested": 500.0, "denied": 500.0, "bulk": 15_000.0, "lookup": 20_000.0}
OVER_C_NS = 250.0
IDLE_ROUND_TRIPS = 1.5
PREFETCH_ROUND_TRIPS = {"direct": 2.5, "nested": 5.0, "denied": 5.0, "bulk": 10.0, "lookup": 10.0}
AFTER_CHURN = 1.2

NOTES = (
    "Medians and 99th percentiles are of single calls, as their caller sees them; calls a second are of all callers "
    "together. Calls of less than 2 us are timed in batches, and their percentiles are of batches.",
    "Varied requests of a lookup are of users who may view ten or twenty documents each, which is less work than the 109 of "
    "the repeated one.",
    "Eight callers are threads of one process. Python's lock lets one of them run at a time, which holds back clients of "
    "SpiceDB, whose threads use the processor for each call, as well as licet, whose checks at the default consistency never "
    "give the lock away; programs in C and Go have no such lock. Clients and servers share the machine's processors.",
    "Eight threads whose calls wait for nothing take turns on the processors in slices of milliseconds: a median of theirs is "
    "that of one, and what they wait for each other shows in calls a second.",
    "A round trip takes some 10 us where client and server run on the same processor in turns, and some 50 where they wake "
    "each other on two; the system decides that anew from moment to moment. What a call does beside waiting weighs more "
    "against the former.",
    "SpiceDB/it: how many times longer SpiceDB takes, over gRPC by the quicker of its two clients. These have their requests built, and for HTTP written out, before anything is timed, and for each caller a "
    "connection that stays open; licet has its arguments as an application has them, in text.",
    "SpiceDB runs with the settings that it has by itself, all caches on. It writes a revision of its own about every five "
    "seconds, so that even on an idle database its cache keys change as often.",
    "What answers in process at the default consistency, and the floors, are measured for a fifth of the time.",
)


# ------------------------------------------------------------------- figures


def callers_of(count: int) -> str:
    return "one caller" if count == 1 else f"{count} callers"


def pick(figures: Iterable[Figure], **wanted: object) -> list[Figure]:
    return [figure for figure in figures if all(figure[key] == value for key, value in wanted.items())]


def median_of(figures: Iterable[Figure], **wanted: object) -> float | None:
    found = pick(figures, **wanted)
    return float(found[0]["median_ns"]) if found else None


def round_trip(figures: Sequence[Figure], figure: Figure) -> float | None:
    """The one that was measured beside it."""
    beside = {key: figure[key] for key in ("phase", "callers", "form", "scenario")}
    return median_of(figures, floor=ROUND_TRIP, **beside)


def peer_of(figures: Sequence[Figure], figure: Figure) -> float | None:
    """Of the client that was the quicker here."""
    beside = {key: figure[key] for key in ("phase", "callers", "form", "scenario")}
    return min((float(one["median_ns"]) for one in pick(figures, floor="", system=PEER, **beside)), default=None)


def systems_in(figures: Iterable[Figure]) -> list[tuple[str, str]]:
    """In the order in which they were measured first."""
    return list(dict.fromkeys((figure["system"], figure["caller"]) for figure in figures if not figure["floor"]))


# ------------------------------------------------------------------- texts


def digits(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def time_of(ns: float | None) -> str:
    if ns is None:
        return ""
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if ns >= size * 0.9995:
            return f"{digits(ns / size)} {unit}"
    return f"{digits(ns)} ns"


def ratio_of(above: float | None, below: float | None) -> str:
    return "" if above is None or not below else digits(above / below)


def aligned(rows: Sequence[Sequence[str]], left: int) -> Iterator[str]:
    """The first `left` columns to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.ljust(width) if i < left else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))
        ]
        yield "  " + "  ".join(cells).rstrip()


def wrapped(text: str, first: str = "  ", later: str = "  ") -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=later)


# ------------------------------------------------------------------- tables

HEAD = ("", "system", "from", "median", "p99", "calls/s", "SpiceDB/it", "round trips")


def row_of(figures: Sequence[Figure], figure: Figure, first: str) -> tuple[str, ...]:
    median = figure["median_ns"]
    return (
        first,
        figure["system"],
        figure["caller"],
        time_of(median),
        time_of(figure["p99_ns"]),
        f"{figure['per_second']:,.0f}",
        ratio_of(peer_of(figures, figure), median) if figure["scenario"] and not figure["floor"] else "",
        ratio_of(median, round_trip(figures, figure)) if figure["scenario"] else "",
    )


def table(figures: Sequence[Figure], place: dict[str, object]) -> list[str]:
    here = pick(figures, **place)
    rows: list[tuple[str, ...]] = [HEAD]
    for scenario in SCENARIOS:
        first = scenario
        for figure in [*pick(here, scenario=scenario, floor=""), *pick(here, scenario=scenario, floor=ROUND_TRIP)]:
            rows.append(row_of(figures, figure, first))
            first = ""
    first = "floors"
    for figure in pick(here, scenario=""):
        rows.append(row_of(figures, figure, first))
        first = ""
    return list(aligned(rows, 3))


def tables(result: Result) -> Iterator[str]:
    figures = result["figures"]
    for phase, title in PHASES.items():
        for callers in CALLERS:
            for form in FORMS:
                place: dict[str, object] = {"phase": phase, "callers": callers, "form": form}
                if any(not figure["floor"] for figure in pick(figures, **place)):
                    yield f"\n{title}; {callers_of(callers)}, {form} requests"
                    yield from table(figures, place)


def at_a_glance(result: Result) -> Iterator[str]:
    """Those on Postgres: medians of one caller / of eight, and what eight get done."""
    for form in FORMS:
        yield from glance(result, f"Medians, one caller / eight callers, {form} requests", form, both_medians)
        yield from glance(result, f"Calls a second of eight callers, {form} requests", form, rate_of_eight)


def glance(result: Result, title: str, form: str, cell: Callable[..., str]) -> Iterator[str]:
    figures = result["figures"]
    chosen = [(PEER, "Python"), (PEER, "Go"), ("SpiceDB, HTTP", "Python"), ("licet", "Python"), ("licet", "C")]
    shown = [one for one in chosen if one in systems_in(figures)]
    rows: list[tuple[str, ...]] = [("", "", *(f"{name} ({caller})" for name, caller in shown))]
    for phase in PHASES:
        for scenario in SCENARIOS:
            place = {"phase": phase, "form": form, "scenario": scenario, "floor": ""}
            cells = [cell(figures, system=name, caller=caller, **place) for name, caller in shown]
            if any(cells):
                rows.append((phase, scenario, *cells))
    if len(rows) > 1:
        yield f"\n{title}"
        yield from aligned(rows, 2)


def both_medians(figures: Sequence[Figure], **wanted: object) -> str:
    medians = [time_of(median_of(figures, callers=callers, **wanted)) for callers in CALLERS]
    return " / ".join(median or "-" for median in medians) if any(medians) else ""


def rate_of_eight(figures: Sequence[Figure], **wanted: object) -> str:
    found = pick(figures, callers=CALLERS[-1], **wanted)
    return f"{found[0]['per_second']:,.0f}" if found else ""


# ------------------------------------------------------------------- what had to hold


@dataclass(frozen=True)
class Bound:
    """One claim, where it was looked at, and what came out."""

    claim: str
    where: str
    found: float
    bound: float
    at_least: bool  # or at most

    @property
    def holds(self) -> bool:
        return self.found >= self.bound if self.at_least else self.found <= self.bound


def against_spicedb(figures: Sequence[Figure]) -> Iterator[Bound]:
    """From Python, and from C."""
    for language in ("Python", "C"):
        for phase in PHASES:
            wanted = TIMES_DEFAULT if phase == "default" else TIMES_FULL
            for figure in pick(figures, phase=phase, floor="", system="licet", caller=language):
                peer = peer_of(figures, figure)
                if peer is not None:
                    where = f"{callers_of(figure['callers'])}, {figure['form']}"
                    claim = f"licet from {language}, {phase}, {figure['scenario']}"
                    yield Bound(claim, where, peer / figure["median_ns"], wanted[figure["scenario"]], True)


def of_one_caller(figures: Sequence[Figure], **wanted: object) -> Iterator[tuple[Figure, str, str]]:
    for figure in pick(figures, callers=1, floor="", **wanted):
        yield figure, figure["scenario"], figure["form"]


def answers_in(figure: Figure) -> int:
    """How many answers one call gives: the margin over C is for each."""
    if figure["scenario"] == "bulk":
        return 100
    if figure["scenario"] == "lookup":
        return 109 if figure["form"] == "repeated" else 10
    return 1


def in_process(result: Result) -> Iterator[Bound]:
    figures = result["figures"]
    for figure, scenario, form in of_one_caller(figures, phase="default", system="licet", caller="C"):
        yield Bound(f"from C, default, {scenario}: ns", form, figure["median_ns"], C_NS[scenario], False)
    for language in ("Python", "Lua 5.4", "LuaJIT"):
        for figure, scenario, form in of_one_caller(figures, phase="default", system="licet", caller=language):
            place = {"phase": "default", "callers": 1, "form": form, "scenario": scenario, "floor": ""}
            ours = median_of(figures, system="licet", caller="C", **place)
            if ours is not None:
                over = (figure["median_ns"] - ours) / answers_in(figure)
                yield Bound(
                    f"from {language}, default, {scenario}: ns over C for each answer", form, over, OVER_C_NS, False
                )


def on_postgres(result: Result) -> Iterator[Bound]:
    figures = result["figures"]
    for name, claim, wanted in (
        ("licet", "from C, full: round trips", dict.fromkeys(SCENARIOS, IDLE_ROUND_TRIPS)),
        ("licet, prefetch", "from C, prefetching: round trips", PREFETCH_ROUND_TRIPS),
    ):
        for figure, scenario, form in of_one_caller(figures, phase="idle", system=name, caller="C"):
            floor = round_trip(figures, figure)
            if floor is not None:
                yield Bound(f"{claim}, {scenario}", form, figure["median_ns"] / floor, wanted[scenario], False)


def after_churn(result: Result) -> Iterator[Bound]:
    """In round trips, since the machine is not the same after some minutes."""
    figures = result["figures"]
    for figure, scenario, form in of_one_caller(figures, phase="churned", system="licet", caller="C"):
        before = pick(
            figures, phase="idle", callers=1, form=form, scenario=scenario, system="licet", caller="C", floor=""
        )
        floors = [round_trip(figures, one) for one in (figure, *before)]
        if before and all(floors):
            now, then = figure["median_ns"] / (floors[0] or 1), before[0]["median_ns"] / (floors[1] or 1)
            yield Bound(
                f"from C, full, {scenario}: after the churn, times before", form, now / then, AFTER_CHURN, False
            )


def bound_rows(bounds: Iterable[Bound]) -> Iterator[tuple[str, ...]]:
    """One for each claim, with all places where it was looked at."""
    claims: dict[str, list[Bound]] = {}
    for bound in bounds:
        claims.setdefault(bound.claim, []).append(bound)
    for claim, found in claims.items():
        worst = (min if found[0].at_least else max)(found, key=lambda one: one.found)
        values = ", ".join(digits(one.found) for one in found)
        missed = [one.where for one in found if not one.holds]
        verdict = "held" if not missed else "MISSED: " + "; ".join(missed) if len(missed) < len(found) else "MISSED"
        sign = ">=" if worst.at_least else "<="
        yield claim, values, f"{sign} {digits(worst.bound)}", verdict


GROUPS: tuple[tuple[str, Callable[[Result], Iterator[Bound]]], ...] = (
    (
        "How many times faster than the quicker client of SpiceDB over gRPC (one caller: repeated, varied; 8 callers: the same)",
        lambda result: against_spicedb(result["figures"]),
    ),
    ("One caller, in process (repeated, varied)", in_process),
    ("One caller, on Postgres, in round trips of a prepared SELECT 1 (repeated, varied)", on_postgres),
    ("One caller, after the churn (repeated, varied)", after_churn),
)


def bounds(result: Result) -> Iterator[str]:
    held = missed = 0
    for title, group in GROUPS:
        found = list(group(result))
        if not found:
            continue
        yield f"\n{title}"
        yield from aligned(list(bound_rows(found)), 4)
        held += sum(bound.holds for bound in found)
        missed += sum(not bound.holds for bound in found)
    if held + missed:
        yield f"\n{held} held, {missed} missed"


# ------------------------------------------------------------------- the whole


def head(result: Result) -> Iterator[str]:
    settings = result["settings"]
    yield f"{result['command']}    {result['date']}, {result['took_s']:,.0f} s, commit {result['commit']}"
    yield "; ".join(f"{key}: {value}" for key, value in result["machine"].items())
    yield "; ".join(f"{name} {version}" for name, version in result["versions"].items())
    requests = ", ".join(f"{count} {name}" for name, count in settings["requests"].items())
    yield f"{settings['relationships']:,} relationships; {requests} requests; every answer compared before it was timed"
    yield f"{settings['warmup_s']:g} s of warm-up and {settings['time_s']:g} s of each measurement"


def notes(result: Result) -> Iterator[str]:
    yield "\nNotes"
    for note in [*result["notes"], *NOTES]:
        yield from wrapped(note, "  - ", "    ")
    for title, entries in (
        ("What they can't express", result["lacks"]),
        ("Not to be had here, or not to the end", result["unavailable"]),
    ):
        if entries:
            yield f"\n{title}"
            for name, reason in entries.items():
                yield from wrapped(f"{name}: {reason}", "  - ", "    ")


def text_of(result: Result) -> str:
    parts = (head(result), tables(result), at_a_glance(result), bounds(result), notes(result))
    return "\n".join(line for part in parts for line in part)
