"""The shared set of hostile inputs and a few of ours, through Python: each case ends in one of its acceptable outcomes,
in its time, in an engine that is strict and in one that is not.

The files are read from $LICET_SHARED/hostile, whose README says what a line means. hostile.json says what is left out
and what is read otherwise, and why.
"""

from __future__ import annotations

import base64
import functools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple

import licet
import pytest
import stores
from licet import Permissionship

sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "faults" / "postgres"))

from proxy import Proxy  # noqa: E402

HERE = Path(__file__).resolve().parent
SHARED = Path(os.environ.get("LICET_SHARED") or HERE.parents[2] / "shared")
FOLDER = SHARED / "hostile"
IS_POSTGRES = stores.chosen() != stores.MEMORY
NOTES = json.loads((HERE / "hostile.json").read_text(encoding="ascii"))

STALENESS_MS = 500

# The README's limits are for an idle machine.
PATIENCE = 10

# A plain check that has to be right after every case; nothing bans anybody from being a viewer.
# Of the transactions that a Postgres knows.
LATEST = "pg_snapshot_xmax(pg_current_snapshot())::text::bigint"

QUESTION = ("document:d1", "viewer", "user:alice")
PLAIN_SCHEMA = "definition user {}\ndefinition document {\n  relation viewer: user\n}\n"


class Case(NamedTuple):
    """One line for one kind of engine."""

    area: str
    id: str
    op: str
    input: dict
    expect: dict
    why: str
    strict: bool
    left_out: bool


LEFT_OUT = {
    note.get("id", note.get("area")): note
    for note in NOTES["left_out"]
    if note.get("in", "python") == "python" and note.get("store", stores.chosen()) == stores.chosen()
}


def read_case(area, line, strict):
    """What only a strict engine refuses, any other answers as SpiceDB does."""
    op, expect = line["op"], dict(line["expect"])
    assert "allowed" not in expect["outcomes"]
    if area == "strict" and not strict and line["spicedb"] is not None:
        expect["outcomes"] = [line["spicedb"]["outcome"]]
    for note in NOTES["read_otherwise"] + (NOTES["read_otherwise_in_postgres"] if IS_POSTGRES else []):
        if note["id"] == line["id"] and note.get("strict", strict) == strict:
            op = note.get("op", op)
            expect.update(note["expect"])
    left_out = area in LEFT_OUT or line["id"] in LEFT_OUT
    return Case(area, line["id"], op, line["input"], expect, line["why"], strict, left_out)


def read_cases(path, area):
    lines = [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]
    return [read_case(area, line, strict) for strict in (False, True) for line in lines]


FILES = {"ours": HERE / "cases" / "hostile.jsonl", **{path.stem: path for path in sorted(FOLDER.glob("*.jsonl"))}}
CASES = [case for area, path in FILES.items() for case in read_cases(path, area)]


def test_the_shared_inputs_are_there():
    if len(FILES) == 1:
        pytest.skip("no shared test data; see LICET_SHARED")


def piece(value):
    if isinstance(value, str):
        return value.encode()
    if "hex" in value:
        return bytes.fromhex(value["hex"])
    if "rep" in value:
        text, times = value["rep"]
        return text.encode() * times
    form, first, end = value["seq"]
    return "".join(form.replace("{i+1}", str(i + 1)).replace("{i}", str(i)) for i in range(first, end)).encode()


def raw(value):
    return value.encode() if isinstance(value, str) else b"".join(map(piece, value["cat"]))


def text(value):
    """Bytes that are not UTF-8 become surrogates: the nearest that a str comes to them."""
    return None if value is None else raw(value).decode("utf-8", "surrogateescape")


def thing(value):
    """An object or a subject, in one text or in its parts."""
    if value is None or not isinstance(value, dict) or "cat" in value:
        return text(value)
    relation = text(value.get("relation", ""))
    return f"{text(value['type'])}:{text(value['id'])}" + (f"#{relation}" if relation else "")


@contextmanager
def in_time(case):
    """The time of a check is that of the question, not of writing the world it is asked about. What else this machine
    does is not the question's: of the processor's time and the clock's the shorter counts."""
    started, spent = time.monotonic(), time.process_time()
    try:
        yield
    finally:
        elapsed_ms = min(time.monotonic() - started, time.process_time() - spent) * 1000
        assert elapsed_ms <= case.expect.get("within_ms", 1000) * PATIENCE


@contextmanager
def going_well():
    """For what comes before the judged step: its error must not be taken for the step's."""
    try:
        yield
    except licet.Error as error:
        pytest.fail(f"the world of the case is refused: {error}")


def ask(engine, given):
    check = engine.check if isinstance(engine, stores.Engine) else functools.partial(licet.Engine.check, engine)
    return check(
        thing(given.get("resource")),
        text(given.get("permission")),
        thing(given.get("subject")),
        context=text(given.get("context")),
    )


def lines(values):
    return [line for value in values for line in text(value).split("\n") if line]


def touch(engine, relationships):
    for first in range(0, len(relationships), 1000):
        engine.touch(*relationships[first : first + 1000])


def open_engine(case):
    return stores.open(strict=case.strict, check_timeout_ms=250 * PATIENCE)


def stored(engine):
    """How many relationships there are."""
    return sum(1 for _ in engine.export_relationships())


def fixture(case, name=None):
    engine = open_engine(case)
    if "schema" in case.input:
        engine.write_schema(text(case.input["schema"]))
    else:
        world = json.loads((FOLDER / "fixtures.json").read_text())[name or case.input["fixture"]]
        engine.write_schema(world["schema"])
        engine.touch(*world["relationships"])
    return engine


def word(result):
    return {Permissionship.NO_PERMISSION: "denied", Permissionship.CONDITIONAL: "conditional"}.get(
        result.permissionship, "allowed"
    )


def is_usable(engine):
    """For a world of its own, whatever it refused before."""
    engine.write_schema(PLAIN_SCHEMA)
    engine.touch("document:d1#viewer@user:alice")
    assert engine.allowed(*QUESTION) and not engine.allowed("document:d1", "viewer", "user:nobody")


def answers(engine, case):
    """Plainly, as before."""
    name = case.input.get("fixture", "docs")
    assert engine.allowed(*({"docs": QUESTION, "folders": ("folder:f1", "viewer", "user:alice")}[name]))
    assert not engine.allowed("document:d1" if name == "docs" else "folder:f1", "viewer", "user:nobody")


def is_usable_after_check(engine, case):
    """In a world of the case's own the viewer may hang on a caveat: its documents make room for the plain world."""
    if "schema" not in case.input:
        answers(engine, case)
        return
    assert not engine.allowed("document:d1", "viewer", "user:nobody")
    for type in {"document", "group"} & set(engine.read_schema().definitions):
        engine.delete_relationships(resource_type=type)
    is_usable(engine)


def load_schema(case):
    with open_engine(case) as engine:
        try:
            engine.write_schema(text(case.input["schema"]))
            return "ok"
        except licet.Error:
            with pytest.raises(licet.NotFound):
                engine.read_schema()
            raise
        finally:
            is_usable(engine)


def parse_relationship(case):
    licet.Relationship.parse(text(case.input["text"]), strict=case.strict)
    return "ok"


def check(case):
    given = case.input
    with going_well():
        engine = fixture(case)
        touch(engine, lines(given.get("relationships", ())))
    with engine:
        for warm in given.get("warm", ()):
            with suppress(licet.Error):  # not judged
                ask(engine, warm)
        with going_well():
            for gone in lines(given.get("then_delete", ())):
                engine.delete(gone)
        try:
            with in_time(case):
                return word(ask(engine, given))
        finally:
            is_usable_after_check(engine, case)


def write(case):
    relationships = lines(case.input["relationships"])
    with going_well():
        engine = fixture(case)
    with engine:
        before = stored(engine)
        try:
            (engine.create if case.input.get("create") else engine.touch)(*relationships)
        except licet.Error:
            assert stored(engine) == before
            raise
        finally:
            answers(engine, case)
    return "ok"


def delete_by_filter(case):
    chosen = {name: text(value) for name, value in case.input["filter"].items()}
    with going_well():
        engine = fixture(case)
        touch(engine, lines(case.input["relationships"]))
    with engine:
        before = stored(engine)
        try:
            deleted = engine.delete_relationships(**chosen).deleted_count
            assert deleted == case.expect.get("deleted", deleted)
            engine.touch("document:d1#viewer@user:alice")  # it may have been among them
        except licet.Error:
            assert stored(engine) == before
            raise
        finally:
            answers(engine, case)
    return "ok"


def load_validation(case):
    with open_engine(case) as engine:
        try:
            *_, findings = licet._licet.validate(stores.plain(engine), raw(case.input["yaml"]), None)
            loaded = engine.read_schema().definitions
            assert not set(case.expect.get("absent_types", ())) & set(loaded)
        except licet.Error:
            assert stored(engine) == 0
            with pytest.raises(licet.NotFound):
                engine.read_schema()
            raise
    return "error" if any(not is_warning for is_warning, *_ in findings) else "ok"


def future_token(engine):
    """Of a revision that the store reaches after a million transactions more."""
    import psycopg

    with psycopg.connect(stores.postgres()) as connection:
        snapshot = f"SELECT format('%s:%s:', x, x)::pg_snapshot FROM (SELECT {LATEST} + 1000000 AS x) x"
        return connection.execute(f'SELECT "{engine.schema}"._token(({snapshot}), NULL)').fetchone()[0]


def mutations(case, token, engine):
    """Of a good token: those that `mutate` asks for. Bytes become the characters of the same number."""
    given = case.input
    if "token" in given:
        return [raw(given["token"]).decode("latin-1")]
    if given["mutate"] == "from_other_store":
        with fixture(case, "docs") as other:
            return [other.touch("document:d1#viewer@user:alice")]
    if given["mutate"] == "future":
        return [future_token(engine)]
    good = token.encode()
    return {
        "truncate": lambda: [token[: -given["count"]]],
        "append": lambda: [token + text(given["text"])],
        "upper_case": lambda: [token.upper()],
        "flip_each_bit": lambda: [
            bytes([*good[:at], byte ^ (1 << bit), *good[at + 1 :]]).decode("latin-1")
            for at, byte in enumerate(good)
            for bit in range(8)
        ],
        "delete_each_byte": lambda: [token[:at] + token[at + 1 :] for at in range(len(token))],
    }[given["mutate"]]()


def each_byte_edited(cursor):
    """What stands inside it, each byte changed in turn."""
    inner = base64.urlsafe_b64decode(cursor)
    edited = [bytes([*inner[:at], byte ^ 0x55, *inner[at + 1 :]]) for at, byte in enumerate(inner)]
    return [base64.urlsafe_b64encode(one).decode() for one in edited]


def bad_cursors(case, engine, good):
    given = case.input
    if "cursor" in given:
        return [raw(given["cursor"]).decode("latin-1")]
    if given["cursor_from"] == "edited":
        return each_byte_edited(good)
    others = [
        engine.lookup_resources("document", "view", "user:bob", limit=1),
        engine.lookup_resources("document", "viewer", "user:alice", limit=1),
        engine.lookup_resources("document", "view", "user:alice", limit=2),
        engine.lookup_resources("document", "view", "user:alice", limit=1, context={"n": 1}),
        engine.lookup_resources("group", "member", "user:bob", limit=1),
        engine.lookup_subjects("document:d3", "view", "user", limit=1),
        engine.read_relationships(resource_type="document", limit=1),
    ]
    assert all(next(other) for other in others)
    return [other.cursor for other in others]


def check_cursor(case):
    """Alice may view two documents, bob and his group the third."""
    outcomes = []
    with going_well():
        engine = fixture(case, "docs")
        page = engine.lookup_resources("document", "view", "user:alice", limit=1)
        first, good = next(page).resource_id, page.cursor
        subjects = engine.lookup_subjects("document:d1", "view", "user", limit=1)
        assert next(subjects).subject_id == "alice"
    with engine:
        rest = engine.lookup_resources("document", "view", "user:alice", limit=1, cursor=good)
        assert {first, next(rest).resource_id} == {"d1", "d2"}
        bad = bad_cursors(case, engine, good)
        of_subjects = each_byte_edited(subjects.cursor) if case.input.get("cursor_from") == "edited" else [*bad, good]
        for cursors, lookup in (
            (bad, lambda cursor: engine.lookup_resources("document", "view", "user:alice", limit=1, cursor=cursor)),
            (of_subjects, lambda cursor: engine.lookup_subjects("document:d1", "view", "user", limit=1, cursor=cursor)),
        ):
            for cursor in cursors:
                try:
                    outcomes.append("ok" if list(lookup(cursor)) else "denied")
                except licet.Error as error:
                    outcomes.append(error)
        answers(engine, case)
    return outcomes


def check_token(case):
    if case.input.get("lookup"):
        return check_cursor(case)
    outcomes = []
    with going_well():
        engine = fixture(case, "docs")
        token = engine.touch("document:d1#viewer@user:alice")
    with engine:
        assert engine.allowed(*QUESTION, consistency=licet.at_least(token))
        for bad in mutations(case, token, engine):
            try:
                outcomes.append(word(engine.check(*QUESTION, consistency=licet.at_least(bad))))
            except licet.Error as error:
                outcomes.append(error)
        answers(engine, case)
    return outcomes


class Api:
    """The steps of one `api` case. What a forked child is told it judges itself."""

    def __init__(self, case):
        self.case = case
        self.engines = {None: None}
        self.network = None
        self.is_child = False
        self.outcomes = []

    def run(self):
        for step in self.case.input["steps"]:
            self.outcomes += [outcome for outcome in [getattr(self, step["call"])(step)] if outcome is not None]
        return self.outcomes

    def open(self, step):
        self.engines[step["as"]] = fixture(self.case)
        if any("network" in inner for outer in self.case.input["steps"] for inner in outer.get("child", ())):
            self.engines[step["as"]] = self.over_network(self.engines[step["as"]])

    def over_network(self, engine):
        """The same store behind a network that may go down, which is left at the child's fork."""
        server = dict(part.split("=", 1) for part in stores.postgres().split())
        self.network = Proxy(Path(server["host"]) / f".s.PGSQL.{server['port']}")
        mode = engine.stats().mode
        limits = {"max_staleness_ms": STALENESS_MS, "wait_timeout_ms": STALENESS_MS}
        return licet.open(self.network.conninfo, postgres_schema=engine.schema, mode=mode, **limits)

    def exit_without_close(self, step):
        """In a process of its own, which opens what this one has open."""
        code = f"import licet; e = licet.open(strict={self.case.strict}); e.write_schema({PLAIN_SCHEMA!r})"
        ended = subprocess.run([sys.executable, "-c", code], timeout=120, capture_output=True)
        return "ok" if (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"") else ended

    def close(self, step):
        self.engines[step["on"]].close()

    def check(self, step):
        try:
            outcome = word(ask(self.engines[step["on"]], step))
        except (licet.Error, TypeError) as error:
            outcome = error
        # What is asked while there is a network is the same as anywhere.
        is_warming = self.network is not None and not self.is_child
        return None if step.get("judged") is False or is_warming else outcome

    def steps(self, steps):
        return [outcome for step in steps for outcome in [getattr(self, step["call"])(step)] if outcome is not None]

    def fork(self, step):
        """What the parent does comes after the child's steps, and before those of child_after."""
        waits, ends = os.pipe()
        if self.network is not None:
            self.network.refuse()
        child = os.fork()
        if child == 0:
            os.close(ends)
            self.is_child = True
            outcomes = self.steps(step.get("child", ()))
            if "child_after" in step:
                os.read(waits, 1)
                outcomes += self.steps(step["child_after"])
            os._exit(0 if all(acceptable_outcome(self.case, outcome) for outcome in outcomes) else 1)
        if "child_after" in step:
            self.steps(step["parent"])
        os.close(ends)
        os.close(waits)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        if "child_after" not in step:
            self.steps(step.get("parent", ()))

    def sleep_past(self, step):
        assert step["option"] == "max_staleness"
        time.sleep(STALENESS_MS / 1000 + 0.1)

    def delete(self, step):
        (engine,) = [engine for engine in self.engines.values() if engine is not None]
        engine.delete(step["relationship"])

    def check_parent_alive(self, step):
        assert self.engines[step["on"]].allowed(*QUESTION)

    def threads(self, step):
        found = []
        threads = [threading.Thread(target=lambda: found.extend(self.steps(step["each"]))) for _ in range(step["n"])]
        for thread in threads:
            thread.start()
        self.steps(step["meanwhile"])
        for thread in threads:
            thread.join()
        self.outcomes += found

    def check_from_signal_handler(self, step):
        question = {"resource": "document:d1", "permission": "view", **step}
        found = []
        before = signal.signal(signal.SIGUSR1, lambda *_: found.append(self.check(question)))
        try:
            signal.raise_signal(signal.SIGUSR1)
        finally:
            signal.signal(signal.SIGUSR1, before)
        return found[0]

    def interval_signals(self, step):
        before = signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, step["every_us"] / 1e6, step["every_us"] / 1e6)
        try:
            end = time.monotonic() + step["for_ms"] / 1e3
            while time.monotonic() < end:
                assert self.engines["e"].allowed(*QUESTION)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def open_store(case):
    """Of what a file is needed for, it is a new one."""
    uri = text(case.input["conninfo"])
    with tempfile.TemporaryDirectory() as folder:
        if "file" in case.input:
            file = Path(folder) / "file"
            file.write_bytes(raw(case.input["file"]))
            uri = uri.replace("{file}", str(file))
        licet.open(uri, strict=case.strict).close()
    return "ok"


OPERATIONS = {
    "open": open_store,
    "load_schema": load_schema,
    "parse_relationship": parse_relationship,
    "check": check,
    "write": write,
    "delete_by_filter": delete_by_filter,
    "load_validation": load_validation,
    "check_token": check_token,
    "api": lambda case: Api(case).run(),
}


def acceptable_outcome(case, outcome):
    expect = case.expect
    if isinstance(outcome, TypeError):
        return "error" in expect["outcomes"] and "misuse" in expect["kinds"]
    if not isinstance(outcome, licet.Error):
        return outcome in expect["outcomes"]
    message = str(outcome)
    return (
        "error" in expect["outcomes"]
        and outcome.kind in expect["kinds"]
        and len(outcome.message.encode()) <= expect.get("max_error_bytes", 1024)
        and not any(word in message for word in expect.get("must_not_contain", ()))
        and not re.search(r"[\x00-\x1f\x7f-\x9f]", message)
    )


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.id + "-strict" * case.strict) for case in CASES if not case.left_out]
)
def test_hostile_input_ends_well(case, capfd):
    try:
        with in_time(case) if case.op != "check" else nullcontext():
            outcomes = OPERATIONS[case.op](case)
    except licet.Error as error:
        outcomes = error
    for outcome in outcomes if isinstance(outcomes, list) else [outcomes]:
        described = (outcome, getattr(outcome, "kind", None), case.expect, case.why)
        assert acceptable_outcome(case, outcome), described
    assert capfd.readouterr() == ("", "")


def test_every_case_is_run_or_left_out_for_a_reason(capsys):
    table = [f"{'area':14} {'engine':8} {'cases':>5} {'run':>5} {'left out':>8}"]
    for area, path in FILES.items():
        in_file = sum(1 for line in path.read_bytes().split(b"\n") if line)
        for strict in (False, True):
            here = [case for case in CASES if (case.area, case.strict) == (area, strict)]
            left_out = sum(1 for case in here if case.left_out)
            assert len({case.id for case in here}) == len(here) == in_file > 0
            table.append(f"{area:14} {'strict' if strict else 'lax':8} {in_file:5} {in_file - left_out:5} {left_out:8}")
    run = sum(1 for case in CASES if not case.left_out)
    with capsys.disabled():
        print("", *table, f"{run} run, {len(CASES) - run} left out", sep="\n")


@pytest.mark.parametrize("name", LEFT_OUT)
def test_left_out(name):
    pytest.skip(f"{name} is left out: {LEFT_OUT[name]['why']}")


@pytest.mark.skipif(len(FILES) == 1, reason="no shared test data; see LICET_SHARED")
def test_every_note_is_about_a_case():
    names = {case.id for case in CASES} | {case.area for case in CASES}
    for note in NOTES["left_out"] + NOTES["read_otherwise"] + NOTES["read_otherwise_in_postgres"]:
        assert note.get("id", note.get("area")) in names
        assert note["why"]
