"""What a run has found, as text: a table for each state of affairs, the medians at a glance, and what had to hold.

Works on the dictionary that is also written as JSON, and on nothing else.
"""

from __future__ import annotations

import statistics
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
SPARED = "licet, no churn"
ROUND_TRIP = "round_trip"
WALK = "a walk by hand"
WIDTH = 110

# Against SpiceDB over gRPC: at least so many times faster.
TIMES_FULL = {"direct": 3.0, "nested": 5.0, "denied": 5.0, "bulk": 5.0, "lookup": 10.0}
TIMES_DEFAULT = {"direct": 500.0, "nested": 500.0, "denied": 500.0, "bulk": 500.0, "lookup": 100.0}

# At most, of one caller. From C at the default consistency: ns, and what a walk by hand took on the machine that this was set
# on. In prefetch mode: round trips.
C_NS = {"direct": 150.0, "nested": 500.0, "denied": 500.0, "bulk": 15_000.0, "lookup": 20_000.0}
REFERENCE_WALK_NS = {"direct": 35.0, "nested": 46.0, "denied": 46.0, "bulk": 4_200.0, "lookup": 200.0}
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
    "licet, the round trip and the walk by hand are timed in turns, in slices of some hundredths of a second, before, between and "
    "after the measurements of the others; their medians and percentiles are medians of those of their slices. Ratios and "
    "differences among them are medians too, slice by slice, so that both sides are of one moment.",
    "The walk by hand is what one would write in C for this schema and these relationships alone, without an engine. It is asked "
    "varied requests also beside the repeated one, but for the lookup.",
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


def beside(figures: Iterable[Figure], figure: Figure, **wanted: object) -> Figure | None:
    """Another one of the same place."""
    place = {key: figure[key] for key in ("phase", "callers", "form", "scenario")}
    return next(iter(pick(figures, **place, **wanted)), None)


def pairs(one: Figure, other: Figure) -> list[tuple[float, float]]:
    """Slice by slice where both have as many, and so were timed in turns; otherwise the medians."""
    ours, theirs = one.get("slices") or [], other.get("slices") or []
    return list(zip(ours, theirs)) if ours and len(ours) == len(theirs) else [(one["median_ns"], other["median_ns"])]


def times(figure: Figure, floor: Figure | None) -> float | None:
    """How many of the other one takes."""
    return None if floor is None else statistics.median(ours / theirs for ours, theirs in pairs(figure, floor))


def over(figure: Figure, floor: Figure) -> float:
    """How many nanoseconds longer one takes."""
    return statistics.median(ours - theirs for ours, theirs in pairs(figure, floor))


def in_walks(figure: Figure) -> float | None:
    if not figure.get("walks"):
        return None
    return statistics.median(
        ours / walk for ours, walk in zip(figure.get("slices") or [figure["median_ns"]], figure["walks"])
    )


def in_round_trips(figures: Sequence[Figure], figure: Figure) -> float | None:
    return times(figure, beside(figures, figure, floor=ROUND_TRIP))


def peer_of(figures: Sequence[Figure], figure: Figure) -> float | None:
    """Of the client that was the quicker here."""
    place = {key: figure[key] for key in ("phase", "callers", "form", "scenario")}
    return min((float(one["median_ns"]) for one in pick(figures, floor="", system=PEER, **place)), default=None)


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


def told(value: float | None) -> str:
    return "" if value is None else digits(value)


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

HEAD = ("", "system", "from", "median", "p99", "calls/s", "SpiceDB/it")


def head_of(place: dict[str, object]) -> tuple[str, ...]:
    return (*HEAD, "walks" if place["phase"] == "default" else "round trips")


def floor_ratio(figures: Sequence[Figure], figure: Figure) -> float | None:
    if not figure["scenario"]:
        return None
    return in_walks(figure) if figure["phase"] == "default" else in_round_trips(figures, figure)


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
        told(floor_ratio(figures, figure)),
    )


def walk_rows(figures: Sequence[Figure], scenario: str) -> Iterator[tuple[str, ...]]:
    for figure in pick(figures, scenario=scenario, floor=""):
        if figure.get("walks"):
            yield ("", WALK, "C", time_of(figure["walk_ns"]), "", "", "", "1.00")


def table(figures: Sequence[Figure], place: dict[str, object]) -> list[str]:
    here = pick(figures, **place)
    rows: list[tuple[str, ...]] = [head_of(place)]
    for scenario in SCENARIOS:
        first = scenario
        for figure in [*pick(here, scenario=scenario, floor=""), *pick(here, scenario=scenario, floor=ROUND_TRIP)]:
            rows.append(row_of(figures, figure, first))
            first = ""
        rows += walk_rows(here, scenario)
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
    is_judged: bool = True  # or stands beside one that is

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


def from_c(result: Result) -> Iterator[Bound]:
    """In walks, which is judged, and in nanoseconds, which is not: docs/benchmarks.md says why."""
    for system, where in (("licet", "following Postgres"), ("licet, in memory", "in memory")):
        for figure, scenario, form in of_one_caller(result["figures"], phase="default", system=system, caller="C"):
            walks, claim = in_walks(figure), f"from C, {where}, {scenario}"
            if walks is not None:
                yield Bound(f"{claim}: walks", form, walks, C_NS[scenario] / REFERENCE_WALK_NS[scenario], False)
            yield Bound(f"{claim}: ns", form, figure["median_ns"], C_NS[scenario], False, walks is None)


def over_c(result: Result) -> Iterator[Bound]:
    figures = result["figures"]
    for language in ("Python", "Lua 5.4", "LuaJIT"):
        for figure, scenario, form in of_one_caller(figures, phase="default", system="licet", caller=language):
            ours = beside(figures, figure, floor="", system="licet", caller="C")
            if ours is not None:
                claim = f"from {language}, default, {scenario}: ns over C for each answer"
                yield Bound(claim, form, over(figure, ours) / answers_in(figure), OVER_C_NS, False)


def on_postgres(result: Result) -> Iterator[Bound]:
    figures = result["figures"]
    for name, claim, wanted in (
        ("licet", "from C, full: round trips", dict.fromkeys(SCENARIOS, IDLE_ROUND_TRIPS)),
        ("licet, prefetch", "from C, prefetching: round trips", PREFETCH_ROUND_TRIPS),
    ):
        for figure, scenario, form in of_one_caller(figures, phase="idle", system=name, caller="C"):
            found = in_round_trips(figures, figure)
            if found is not None:
                yield Bound(f"{claim}, {scenario}", form, found, wanted[scenario], False)


def after_churn(result: Result) -> Iterator[Bound]:
    """Beside an engine on a database that was spared, in the same moments."""
    figures = result["figures"]
    for figure, scenario, form in of_one_caller(figures, phase="churned", system="licet", caller="C"):
        found = times(figure, beside(figures, figure, floor="", system=SPARED))
        if found is not None:
            yield Bound(f"from C, full, {scenario}: after the churn, times without", form, found, AFTER_CHURN, False)


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
        yield claim, values, f"{sign} {digits(worst.bound)}", verdict if worst.is_judged else f"({verdict.lower()})"


GROUPS: tuple[tuple[str, Callable[[Result], Iterator[Bound]]], ...] = (
    (
        "How many times faster than the quicker client of SpiceDB over gRPC (one caller: repeated, varied; 8 callers: the same)",
        lambda result: against_spicedb(result["figures"]),
    ),
    (
        "One caller, in process, from C, in walks by hand (repeated, varied); times as the bounds have them are in brackets, not "
        "judged",
        from_c,
    ),
    ("One caller, in process, from Python and Lua (repeated, varied)", over_c),
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
        held += sum(bound.holds for bound in found if bound.is_judged)
        missed += sum(not bound.holds for bound in found if bound.is_judged)
        beside_it = [bound for bound in found if not bound.is_judged]
        if beside_it:
            yield f"  {sum(bound.holds for bound in beside_it)} of {len(beside_it)} held in ns"
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
    yield "took " + ", ".join(f"{name} {seconds:,.0f} s" for name, seconds in result["phases_s"].items())
    yield from wrapped(result["placement"], "", "")


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
