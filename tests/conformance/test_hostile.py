"""The shared set of hostile inputs and a few of ours, through Python: each case ends in one of its acceptable outcomes,
in its time.

The files are read from $LICET_SHARED/hostile, whose README says what a line means.
"""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path

import licet
import pytest
from licet import Permissionship

SHARED = Path(os.environ.get("LICET_SHARED") or Path(__file__).resolve().parents[3] / "shared")
FOLDER = SHARED / "hostile"

# What needs a caveat's evaluation, and what Python can not say: a NULL place for the answer, a negative length, an
# options structure of another size, an answer that was freed, a callback, unloading, a network.
AREAS = ("schema", "relationship", "ids", "graph", "limits", "write", "filter", "misuse", "yaml")
NOT_IN_PYTHON = {f"misuse-{n:03}" for n in (2, 7, 8, 9, 11, 12, 17, 19, 20, 21, 22)}

# The README's limits are for an idle machine.
PATIENCE = 10

# A plain check that has to be right after every case; nothing bans anybody from being a viewer.
QUESTION = ("document:d1", "viewer", "user:alice")


def cases(path):
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()] if path.exists() else []


def needs_caveats(case):
    """Whether a check needs what a caveat or an expiration says."""
    given = case["input"]
    written = [entry for entry in given.get("relationships", ()) if isinstance(entry, str)]
    return "context" in given or (case["op"] == "check" and any("[" in entry for entry in written))


OURS = cases(Path(__file__).resolve().parent / "cases" / "hostile.jsonl")
SHARED_CASES = [
    case
    for area in AREAS
    for case in cases(FOLDER / f"{area}.jsonl")
    if not needs_caveats(case) and case["id"] not in NOT_IN_PYTHON
]
CASES = OURS + SHARED_CASES


def test_the_shared_inputs_are_there():
    if not SHARED_CASES:
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
    """Bytes that are no UTF-8 become surrogates: the nearest that a str comes to them."""
    return None if value is None else raw(value).decode("utf-8", "surrogateescape")


def thing(value):
    """An object or a subject, in one text or in its parts."""
    if value is None or not isinstance(value, dict) or "cat" in value:
        return text(value)
    relation = text(value.get("relation", ""))
    return f"{text(value['type'])}:{text(value['id'])}" + (f"#{relation}" if relation else "")


@contextmanager
def in_time(case):
    """The time of a check is that of the question, not of writing the world it is asked about."""
    started = time.monotonic()
    try:
        yield
    finally:
        elapsed_ms = (time.monotonic() - started) * 1000
        assert elapsed_ms <= case["expect"].get("within_ms", 1000) * PATIENCE


def ask(engine, given):
    return licet.Engine.check(
        engine, thing(given.get("resource")), text(given.get("permission")), thing(given.get("subject"))
    )


def lines(values):
    return [line for value in values for line in text(value).split("\n") if line]


def touch(engine, relationships):
    for first in range(0, len(relationships), 1000):
        engine.touch(*relationships[first : first + 1000])


def fixture(case):
    engine = licet.open()
    if "schema" in case["input"]:
        engine.write_schema(text(case["input"]["schema"]))
    else:
        world = json.loads((FOLDER / "fixtures.json").read_text())[case["input"]["fixture"]]
        engine.write_schema(world["schema"])
        engine.touch(*(text for text in world["relationships"] if "[" not in text))  # a caveat's stays out
    return engine


def word(result):
    return {Permissionship.NO_PERMISSION: "denied", Permissionship.CONDITIONAL: "conditional"}.get(
        result.permissionship, "allowed"
    )


def load_schema(case):
    with licet.open() as engine:
        engine.write_schema(text(case["input"]["schema"]))
        missing = set(case["expect"].get("absent_types", ())) & set(engine.read_schema().definitions)
        assert not missing
    return "ok"


def parse_relationship(case):
    licet.Relationship.parse(text(case["input"]["text"]))
    return "ok"


def check(case):
    given = case["input"]
    with fixture(case) as engine:
        touch(engine, lines(given.get("relationships", ())))
        for warm in given.get("warm", ()):
            try:
                ask(engine, warm)
            except licet.Error:
                pass
        for gone in lines(given.get("then_delete", ())):
            engine.delete(gone)
        try:
            with in_time(case):
                return word(ask(engine, given))
        finally:
            if given.get("fixture") == "docs":
                assert engine.allowed(*QUESTION)


def write(case):
    relationships = lines(case["input"]["relationships"])
    with fixture(case) as engine:
        before = engine.stats().relationships
        try:
            (engine.create if case["input"].get("create") else engine.touch)(*relationships)
        except licet.Error:
            assert engine.stats().relationships == before
            raise
        finally:
            assert engine.allowed(*QUESTION)
    return "ok"


def delete_by_filter(case):
    with fixture(case) as engine:
        touch(engine, lines(case["input"]["relationships"]))
        chosen = {name: text(value) for name, value in case["input"]["filter"].items()}
        deleted = engine.delete_relationships(**chosen).deleted_count
        assert deleted == case["expect"].get("deleted", deleted)
        assert engine.allowed(*QUESTION)
    return "ok"


def load_validation(case):
    with licet.open() as engine:
        *_, findings = licet._licet.validate(engine, raw(case["input"]["yaml"]), None)
    return "error" if any(not is_warning for is_warning, *_ in findings) else "ok"


class Api:
    """The steps of one `api` case. What a forked child is told it judges itself."""

    def __init__(self, case):
        self.case = case
        self.engines = {None: None}
        self.outcomes = []

    def run(self):
        for step in self.case["input"]["steps"]:
            self.outcomes += [outcome for outcome in [getattr(self, step["call"])(step)] if outcome is not None]
        return self.outcomes

    def open(self, step):
        self.engines[step["as"]] = fixture(self.case)

    def close(self, step):
        self.engines[step["on"]].close()

    def check(self, step):
        try:
            outcome = word(ask(self.engines[step["on"]], step))
        except (licet.Error, TypeError) as error:
            outcome = error
        return None if step.get("judged") is False else outcome

    def steps(self, steps):
        return [outcome for step in steps for outcome in [getattr(self, step["call"])(step)] if outcome is not None]

    def fork(self, step):
        child = os.fork()
        if child == 0:
            acceptable = [acceptable_outcome(self.case, outcome) for outcome in self.steps(step["child"])]
            os._exit(0 if all(acceptable) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        self.steps(step.get("parent", ()))

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


OPERATIONS = {
    "load_schema": load_schema,
    "parse_relationship": parse_relationship,
    "check": check,
    "write": write,
    "delete_by_filter": delete_by_filter,
    "load_validation": load_validation,
    "api": lambda case: Api(case).run(),
}


def acceptable_outcome(case, outcome):
    expect = case["expect"]
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


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_hostile_input_ends_well(case, capfd):
    try:
        with in_time(case) if case["op"] != "check" else nullcontext():
            outcomes = OPERATIONS[case["op"]](case)
    except licet.Error as error:
        outcomes = error
    for outcome in outcomes if isinstance(outcomes, list) else [outcomes]:
        described = (outcome, getattr(outcome, "kind", None), case["expect"], case["why"])
        assert outcome != "allowed" and acceptable_outcome(case, outcome), described
    assert capfd.readouterr() == ("", "")
