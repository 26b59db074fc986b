"""Faults that engines and libraries of this kind have had, each in its smallest form with the right answer.

faults.json has one entry for each class: what went wrong elsewhere, which tests hold it here (many stand in other
files), and which part of it waits for what. Where an answer could be wrong, every question that the world allows is asked
as a check, in one bulk check, and as a lookup of resources and of subjects, and a naive evaluation says what is right.
"""

from __future__ import annotations

import ast
import asyncio
import gc
import itertools
import json
import os
import random
import re
import subprocess
import sys
import textwrap
import threading
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import NamedTuple

import licet
import pytest
from licet import Permissionship
from licet.testing import ManualClock

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "differential"))

import naive  # noqa: E402
from conditions import Unknown  # noqa: E402

TABLE = json.loads((HERE / "faults.json").read_text(encoding="ascii"))["faults"]


# --------------------------------------------------------------------- worlds


class Condition:
    """What a caveat means: a function of its parameters. Without all of them it is open."""

    def __init__(self, meaning, *parameters):
        self.meaning, self.parameters = meaning, parameters

    def outcome(self, stored, asked):
        given = {**asked, **stored}
        missing = frozenset(name for name in self.parameters if name not in given)
        return Unknown(missing) if missing else self.meaning(*(given[name] for name in self.parameters))


TOKEN = re.compile(r"\s*(->|[a-z_0-9]+|[-+&()])")


class Reader:
    """Reads the expressions of these tests, in which parentheses say what binds how."""

    def __init__(self, text):
        self.tokens = TOKEN.findall(text)

    def expression(self):
        operands, operator = [self.operand()], None
        while self.tokens and self.tokens[0] != ")":
            found = self.tokens.pop(0)
            assert operator in (None, found), "parentheses are missing"
            operator = found
            operands.append(self.operand())
        if operator is None:
            return operands[0]
        if operator != "-":
            return (operator, operands)
        base = operands[0]
        for operand in operands[1:]:
            base = ("-", base, operand)
        return base

    def operand(self):
        token = self.tokens.pop(0)
        if token == "(":
            inside = self.expression()
            assert self.tokens.pop(0) == ")"
            return inside
        if token in ("nil", "self"):
            return (token,)
        if self.tokens and self.tokens[0] == "->":
            self.tokens.pop(0)
            return ("any", token, self.tokens.pop(0))
        return ("name", token)


def shape_of(text):
    """(type, relation or "*" or None, caveat or None, does it expire?)"""
    name, _, traits = text.strip().partition(" with ")
    traits = traits.split(" and ") if traits else []
    stype, _, relation = name.replace(":*", "#*").partition("#")
    caveat = next((trait for trait in traits if trait != "expiration"), None)
    return (stype, relation or None, caveat, "expiration" in traits)


def members_of(body):
    members = {}
    for kind, name, rest in re.findall(r"(relation|permission) (\w+) ?[:=] ?(.*)", body):
        if kind == "relation":
            members[name] = (kind, [shape_of(shape) for shape in rest.split("|")])
        else:
            members[name] = (kind, Reader(rest).expression())
    return members


def read_world(schema, relationships, caveats):
    """The text of a schema, one member a line, as the naive evaluator's data."""
    definitions = re.findall(r"definition (\w+) \{(.*?)\}", schema, re.DOTALL)
    rows = {}
    for text in relationships:
        r = licet.Relationship.parse(text)
        row = (r.resource_type, r.resource_id, r.relation, r.subject_type, r.subject_id, r.subject_relation)
        context = tuple(json.loads(r.caveat_context).items()) if r.caveat_context else ()
        rows[row] = naive.Attribute(r.caveat_name, context) if r.caveat_name else naive.BARE
    return naive.World({name: members_of(body) for name, body in definitions}, rows, caveats)


def open_world(schema, relationships, **options):
    engine = licet.open(**options)
    engine.write_schema(textwrap.dedent(schema))
    for start in range(0, len(relationships), 1000):
        engine.touch(*relationships[start : start + 1000])
    return engine


# --------------------------------------------- every question in every way


def said(result):
    """A result as the naive evaluator words it."""
    if result.error is not None:
        return naive.NO_ANSWER
    if result.permissionship == Permissionship.CONDITIONAL:
        return (naive.CONDITIONAL, result.missing_context)
    return naive.ALLOWED if result.allowed else naive.DENIED


def said_of(found):
    return naive.ALLOWED if found.permissionship == Permissionship.HAS_PERMISSION else naive.CONDITIONAL


def in_words(answer):
    return answer if isinstance(answer, str) else answer[0]


class Asked(NamedTuple):
    engine: object
    world: object
    context: object
    objects: list  # (type, id)
    subjects: list  # (type, id, relation or None)
    right: dict  # (type, id, name, subject) -> answer


def text_of(subject):
    return "%s:%s%s" % (*subject[:2], "#" + subject[2] if subject[2] else "")


def questions(asked):
    for otype, oid in asked.objects:
        for name in asked.world.schema[otype]:
            for subject in asked.subjects:
                yield (otype, oid, name, subject)


def hold_checks(asked):
    for otype, oid, name, subject in questions(asked):
        try:
            answer = said(asked.engine.check(f"{otype}:{oid}", name, text_of(subject), context=asked.context))
        except licet.LimitExceeded:
            answer = naive.NO_ANSWER
        assert answer == asked.right[otype, oid, name, subject], (otype, oid, name, subject)


def hold_bulk(asked):
    keys = list(questions(asked))
    for start in range(0, len(keys), 10_000):
        part = keys[start : start + 10_000]
        items = [(f"{otype}:{oid}", name, text_of(subject)) for otype, oid, name, subject in part]
        for key, result in zip(part, asked.engine.check_bulk(items, context=asked.context)):
            assert said(result) == asked.right[key], key


def hold_resources(asked):
    for otype, members in asked.world.schema.items():
        ids = [oid for of, oid in asked.objects if of == otype]
        for name, subject in itertools.product(members, asked.subjects):
            right = {oid: asked.right[otype, oid, name, subject] for oid in ids}
            if naive.NO_ANSWER in right.values():
                continue
            found = list(asked.engine.lookup_resources(otype, name, text_of(subject), context=asked.context))
            assert len(found) == len({one.resource_id for one in found})
            own = {subject[1]} if subject[0] == otype else set()
            assert {one.resource_id for one in found} <= set(ids) | own
            known = {one.resource_id: said_of(one) for one in found}
            for oid in ids:
                assert known.get(oid, naive.DENIED) == in_words(right[oid]), (otype, oid, name, subject)


def decision_of(subject_id, listed, everyone):
    """What a lookup of subjects says of one: by name, or as one of those that the wildcard stands for."""
    if subject_id in listed:
        return said_of(listed[subject_id])
    if everyone is None:
        return naive.DENIED
    for excluded in everyone.excluded:
        if excluded.subject_id == subject_id:
            certain = excluded.permissionship == Permissionship.HAS_PERMISSION
            return naive.DENIED if certain else naive.CONDITIONAL
    return said_of(everyone)


def hold_subjects(asked):
    kinds = sorted({(subject[0], subject[2] or "") for subject in asked.subjects})
    for (otype, oid), (stype, relation) in itertools.product(asked.objects, kinds):
        for name in asked.world.schema[otype]:
            mine = [subject for subject in asked.subjects if (subject[0], subject[2] or "") == (stype, relation)]
            right = {subject: asked.right[otype, oid, name, subject] for subject in mine}
            if naive.NO_ANSWER in right.values():
                continue
            found = list(
                asked.engine.lookup_subjects(
                    f"{otype}:{oid}", name, stype, subject_relation=relation or None, context=asked.context
                )
            )
            listed = {one.subject_id: one for one in found}
            assert len(listed) == len(found)
            everyone = listed.pop("*", None)
            for subject in mine:
                answer = decision_of(subject[1], listed, everyone)
                assert answer == in_words(right[subject]), (otype, oid, name, subject)


def hold(engine, world, context=None):
    """Every object, name and subject of the world, and one of each type that occurs nowhere."""
    objects = sorted({*world.objects, *((otype, "nowhere") for otype in world.schema if world.schema[otype])})
    plain = [(*one, None) for one in world.objects] + [(stype, "nobody", None) for stype in world.schema]
    usersets = {row[3:6] for row in world.relationships if row[5] is not None}
    subjects = sorted({*plain, *usersets}, key=str)
    right = {}
    for subject in subjects:
        answers = naive.answers(world, subject, objects, context)
        right.update({(*goal, subject): answer for goal, answer in answers.items()})
    asked = Asked(engine, world, context, objects, subjects, right)
    hold_checks(asked)
    hold_bulk(asked)
    hold_resources(asked)
    hold_subjects(asked)


def open_and_hold(schema, relationships, caveats=None, contexts=(None,)):
    relationships = relationships.split()
    engine = open_world(schema, relationships)
    world = read_world(schema, relationships, caveats or {})
    for context in contexts:
        hold(engine, world, context)
    return engine


def resources(engine, *question, **options):
    return sorted(found.resource_id for found in engine.lookup_resources(*question, **options))


def subjects(engine, *question, **options):
    return sorted(found.subject_id for found in engine.lookup_subjects(*question, **options))


# ------------------------------------------------------------------ the table


def defined_in(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}
    if path.suffix == ".lua":
        return set(re.findall(r'\bit\("([^"]+)"', text))
    if path.suffix == ".c":
        return set(re.findall(r"cmocka_unit_test(?:_\w+)?\((\w+)", text))
    return set()


@pytest.mark.parametrize("number", TABLE)
def test_every_class_has_tests_or_waits_for_something(number):
    entry = TABLE[number]
    assert set(entry) <= {"fault", "tests", "waits", "deviation"}
    assert entry["fault"].endswith(".")
    assert entry.get("tests") or entry.get("waits")
    for name in entry.get("tests", []):
        path, _, test = name.partition("::")
        assert (ROOT / path).is_file(), path
        assert test in defined_in(ROOT / path) if test else path.endswith((".yaml", ".zed"))


def test_every_test_here_belongs_to_a_class():
    here = "tests/conformance/test_faults.py::"
    named = {name[len(here) :] for entry in TABLE.values() for name in entry.get("tests", []) if name.startswith(here)}
    tests = {name for name in defined_in(Path(__file__)) if name.startswith("test_")}
    own = {"test_every_class_has_tests_or_waits_for_something", "test_every_test_here_belongs_to_a_class"}
    assert named == tests - own
    assert len(TABLE) == 72


# ------------------------------------------------------ wildcards and exclusion


def test_a_wildcard_right_of_an_exclusion_or_inside_an_intersection_counts_in_lookups_too():
    engine = open_and_hold(
        """
        definition member {}
        definition locker {
          relation holder: member
          relation frozen: member:*
          relation listed: member:*
          permission open = holder - frozen
          permission peek = holder & listed
        }
        """,
        """locker:7#holder@member:ina locker:7#frozen@member:*
           locker:8#holder@member:ina locker:8#listed@member:*""",
    )
    assert not engine.allowed("locker:7", "open", "member:ina")
    assert resources(engine, "locker", "open", "member:ina") == ["8"]
    assert resources(engine, "locker", "peek", "member:ina") == ["8"]
    assert subjects(engine, "locker:7", "open", "member") == []


def test_who_is_excluded_from_a_wildcard_does_not_come_back_through_an_intersection():
    engine = open_and_hold(
        """
        definition fan {}
        definition stage {
          relation crowd: fan:*
          relation barred: fan
          relation ticket: fan
          relation second: fan:*
          relation late: fan
          permission enter = (crowd - barred) & ticket
          permission both = (crowd - barred) & (second - late)
        }
        """,
        """stage:s#crowd@fan:* stage:s#barred@fan:lou stage:s#ticket@fan:lou stage:s#ticket@fan:max
           stage:s#second@fan:* stage:s#late@fan:kit""",
    )
    assert subjects(engine, "stage:s", "enter", "fan") == ["max"]
    assert resources(engine, "stage", "enter", "fan:lou") == []
    (everyone,) = engine.lookup_subjects("stage:s", "both", "fan")
    assert sorted(excluded.subject_id for excluded in everyone.excluded) == ["kit", "lou"]


def test_a_wildcard_stands_for_the_usersets_of_its_type_as_in_spicedb():
    engine = open_and_hold(
        """
        definition user {}
        definition team {
          relation lead: user
        }
        definition doc {
          relation viewer: team:* | team#lead
          permission view = viewer
        }
        """,
        "doc:1#viewer@team:* doc:2#viewer@team:red#lead",
    )
    assert engine.allowed("doc:1", "view", "team:red")
    assert engine.allowed("doc:1", "view", "team:red#lead")
    assert not engine.allowed("doc:1", "view", "user:ana")
    assert subjects(engine, "doc:1", "view", "team", subject_relation="lead") == ["*"]


def test_exclusion_answers_by_plain_set_algebra():
    schema = """
        definition user {}
        definition item {
          relation has_a: user
          relation has_b: user
          relation has_c: user
          permission union = has_a + has_b
          permission both = has_a & has_b
          permission without = has_a - has_b
          permission more = (has_a - has_b) + has_c
          permission neither = has_a - (has_b + has_c)
          permission twice = has_a - (has_a - has_b)
        }
        """
    asked = 0
    for a, b, c in itertools.product((False, True), repeat=3):
        rows = [f"item:i#{name}@user:u" for name, there in (("has_a", a), ("has_b", b), ("has_c", c)) if there]
        engine = open_world(schema, rows)
        right = {
            "union": a or b,
            "both": a and b,
            "without": a and not b,
            "more": (a and not b) or c,
            "neither": a and not (b or c),
            "twice": a and not (a and not b),
        }
        for name, answer in right.items():
            assert engine.allowed("item:i", name, "user:u") == answer
            asked += 1
        hold(engine, read_world(schema, rows, {}))
    assert asked == 48


# --------------------------------------------------------------- arrows, lookups


def test_an_arrow_visits_both_forms_of_a_type_that_is_allowed_bare_and_as_a_userset():
    engine = open_and_hold(
        """
        definition sailor {}
        definition dock {
          relation harbour: dock
          relation mate: sailor
          permission board = mate
        }
        definition crate {
          relation cat: dock | dock#harbour
          permission lift = cat->board
        }
        """,
        """crate:c1#cat@dock:north crate:c1#cat@dock:south#harbour
           dock:north#mate@sailor:eli dock:south#mate@sailor:noor""",
    )
    assert subjects(engine, "crate:c1", "lift", "sailor") == ["eli", "noor"]


def test_a_relation_that_is_used_bare_and_left_of_an_arrow_loses_no_resource():
    engine = open_and_hold(
        """
        definition cook {}
        definition brigade {
          relation cook: cook
          relation head: cook
        }
        definition kitchen {
          relation staff: cook | brigade#cook
          permission plan = staff + staff->head
        }
        """,
        """kitchen:k1#staff@brigade:b#cook brigade:b#head@cook:ana
           kitchen:k2#staff@cook:ana
           kitchen:k3#staff@brigade:c#cook brigade:c#cook@cook:ana""",
    )
    assert resources(engine, "kitchen", "plan", "cook:ana") == ["k1", "k2", "k3"]


def test_a_lookup_over_an_arrow_heeds_the_other_half_of_an_intersection():
    engine = open_and_hold(
        """
        definition renter {}
        definition house {
          relation tenant: renter
          permission live = tenant
        }
        definition room {
          relation house: house
          relation painter: renter
          permission decorate = painter & house->live
        }
        """,
        """room:r1#house@house:h1 room:r2#house@house:h1 house:h1#tenant@renter:joe
           room:r2#painter@renter:joe room:r3#painter@renter:joe""",
    )
    assert resources(engine, "room", "decorate", "renter:joe") == ["r2"]


def test_an_exclusion_of_a_userset_from_an_arrow_is_evaluated_as_written():
    engine = open_and_hold(
        """
        definition user {}
        definition org {
          relation staff: user
          relation parent: org
          permission all_staff = staff + parent->all_staff
        }
        definition file {
          relation org: org
          relation locked: org#staff
          permission read = org->all_staff - locked
        }
        """,
        """org:hq#staff@user:p org:hq#staff@user:q org:lab#staff@user:q org:lab#parent@org:hq
           file:f#org@org:lab file:f#locked@org:lab#staff""",
    )
    assert subjects(engine, "file:f", "read", "user") == ["p"]


def test_several_parents_inside_an_intersection_give_the_right_list():
    engine = open_and_hold(
        """
        definition user {}
        definition team {
          relation lead: user
          relation out: user
          permission okay = lead - out
        }
        definition memo {
          relation team: team
          relation pin: user
          permission see = pin & team->okay
        }
        """,
        """memo:1#team@team:a memo:1#team@team:b team:a#lead@user:u team:a#out@user:u team:b#lead@user:u
           memo:1#pin@user:u memo:2#team@team:a memo:2#pin@user:u""",
    )
    assert resources(engine, "memo", "see", "user:u") == ["1"]


ALIASES = """
    definition user {}
    definition role {
      relation members: user
    }
    definition sys {
      relation admins: role#members
      permission root = admins
    }
    definition grp {
      relation sys: sys
      permission wipe = sys->root
    }
    definition note {
      relation parent: grp
      permission wipe = parent->wipe
      permission edit = wipe
    }
    """


def test_a_permission_that_only_names_another_answers_as_that_one():
    engine = open_and_hold(
        ALIASES,
        """note:c#parent@grp:g grp:g#sys@sys:s sys:s#admins@role:r#members role:r#members@user:u""",
    )
    assert engine.allowed("note:c", "wipe", "user:u")
    assert engine.allowed("note:c", "edit", "user:u")


def test_every_alias_of_a_random_permission_answers_as_the_permission():
    rng = random.Random(4)
    operands = ["viewer", "banned", "owner", "parent->per0", "parent->viewer", "nil"]
    for _ in range(40):
        lines, names = [], []
        for number in range(3):
            choice = operands + names
            operator = rng.choice([" + ", " & ", " - "])
            lines.append(f"  permission per{number} = " + operator.join(rng.choices(choice, k=rng.choice([1, 2, 2]))))
            lines.append(f"  permission same{number} = per{number}")
            names += [f"per{number}", f"same{number}"]
        schema = (
            "definition user {}\ndefinition group {\n  relation member: user | group#member\n}\n"
            "definition item {\n  relation parent: item\n  relation owner: user | group#member\n"
            "  relation viewer: user | user:* | group#member\n  relation banned: user\n" + "\n".join(lines) + "\n}\n"
        )
        people = ["user:ann", "user:bob", "group:one#member"]
        rows = {
            f"item:{rng.choice('abc')}#{relation}@{rng.choice(people[: 2 if relation == 'banned' else 3])}"
            for relation in rng.choices(["owner", "viewer", "banned"], k=6)
        }
        rows |= {"item:a#parent@item:b", "item:b#parent@item:c", "group:one#member@user:ann"}
        engine = open_world(schema, sorted(rows))
        hold(engine, read_world(schema, sorted(rows), {}))
        for item, number, person in itertools.product("abc", range(3), people):
            one = engine.check(f"item:{item}", f"per{number}", person).permissionship
            assert engine.check(f"item:{item}", f"same{number}", person).permissionship == one


def test_what_is_reached_through_a_circle_of_types_is_reached_from_each():
    schema = """
        definition user {}
        definition aaa {
          relation next: bbb
          relation own: user
          permission per = own + next->per
        }
        definition bbb {
          relation next: ccc
          relation own: user
          permission per = own + next->per
        }
        definition ccc {
          relation next: aaa
          relation own: user
          permission per = own + next->per
        }
        """
    rows = "aaa:1#next@bbb:1 bbb:1#next@ccc:1 ccc:1#own@user:u"
    engine = open_and_hold(schema, rows)
    parsed = licet.Schema.parse(textwrap.dedent(schema))
    reached = [
        sorted((member.definition, member.name) for member in parsed.dependent_relations(definition, "per"))
        for definition in ("aaa", "bbb", "ccc")
    ]
    for found in reached:
        assert {("aaa", "own"), ("bbb", "own"), ("ccc", "own")} <= set(found)
    for definition in ("aaa", "bbb", "ccc"):
        assert resources(engine, definition, "per", "user:u") == ["1"]
    for _ in range(50):
        again = open_world(schema, rows.split())
        assert [resources(again, definition, "per", "user:u") for definition in ("aaa", "bbb", "ccc")] == [["1"]] * 3


CIRCLES = """
    definition user {}
    definition club {
      relation member: user | club#member
      relation muted: user
      permission speak = member - muted
    }
    """
CIRCLE_ROWS = [
    "club:a#member@club:b#member",
    "club:b#member@club:a#member",
    "club:b#member@club:c#member",
    "club:c#member@club:d#member",
    "club:d#member@club:b#member",
    "club:d#member@club:e#member",
    "club:e#member@club:f#member",
    "club:f#member@club:a#member",
    "club:f#member@user:fay",
    "club:c#member@user:cat",
    "club:a#muted@user:fay",
    "club:e#muted@user:cat",
]


def test_circles_give_one_answer_whatever_the_order_of_rows_and_threads():
    rng = random.Random(36)
    world = read_world(CIRCLES, CIRCLE_ROWS, {})
    items = [
        (f"club:{club}", name, f"user:{user}")
        for club in "abcdef"
        for name in ("member", "speak")
        for user in ("fay", "cat", "dan")
    ]
    right = [naive.answer(world, ("club", r[5:]), n, ("user", s[5:], None)) == naive.ALLOWED for r, n, s in items]
    engine = open_world(CIRCLES, CIRCLE_ROWS)
    hold(engine, world)
    strange = []

    def ask(engine, seed):
        order = list(range(len(items)))
        random.Random(seed).shuffle(order)
        for index in order:
            if engine.allowed(*items[index]) != right[index]:
                strange.append(items[index])

    for run in range(60):
        rows = CIRCLE_ROWS[:]
        rng.shuffle(rows)
        engine = licet.open()
        engine.write_schema(CIRCLES)
        for row in rows:
            engine.touch(row)
        threads = [threading.Thread(target=ask, args=(engine, run * 8 + n)) for n in range(run % 8 + 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert strange == []


def test_a_depth_limit_is_never_a_denial_and_does_not_depend_on_the_order_of_rows():
    schema = "definition user {}\ndefinition zone {\n  relation viewer: user | zone#viewer\n}\n"
    depth = 12
    chain = [f"zone:z{n}#viewer@zone:z{n + 1}#viewer" for n in range(depth - 1)] + [f"zone:z{depth - 1}#viewer@user:e"]
    short = "zone:z0#viewer@user:e"
    for limit in (depth - 1, depth, depth + 1):
        for rows in (chain, [short, *chain], [*chain, short]):
            engine = licet.open(max_depth=limit)
            engine.write_schema(schema)
            for row in rows:
                engine.touch(row)
            question = ("zone:z0", "viewer", "user:e")
            if short not in rows and limit < depth:
                with pytest.raises(licet.LimitExceeded) as caught:
                    engine.check(*question)
                assert caught.value.reason == "MAXIMUM_DEPTH_EXCEEDED"
                (result,) = engine.check_bulk([question])
                assert result.error is not None and not result
                with pytest.raises(licet.LimitExceeded):
                    list(engine.lookup_subjects("zone:z0", "viewer", "user"))
            else:
                assert engine.allowed(*question)
                assert engine.check_bulk([question])[0].allowed
                if limit < depth:  # of others nothing is known, and a list would say that they are denied
                    with pytest.raises(licet.LimitExceeded):
                        subjects(engine, "zone:z0", "viewer", "user")
                else:
                    assert subjects(engine, "zone:z0", "viewer", "user") == ["e"]


# --------------------------------------------------------------------- caveats


def test_two_caveated_usersets_of_one_type_keep_both_conditions():
    schema = """
        caveat on_shift(now_hour int, start int, stop int) { now_hour >= start && now_hour < stop }
        definition nurse {}
        definition rota {
          relation active: nurse
        }
        definition ward {
          relation rota: rota#active with on_shift
          permission treat = rota
        }
        """
    shift = Condition(lambda now, start, stop: start <= now < stop, "now_hour", "start", "stop")
    engine = open_and_hold(
        schema,
        """ward:5#rota@rota:day#active[on_shift:{"start":7,"stop":15}]
           ward:5#rota@rota:late#active[on_shift:{"start":15,"stop":23}]
           rota:day#active@nurse:kim rota:late#active@nurse:kim""",
        {"on_shift": shift},
        [{"now_hour": 16}, {"now_hour": 8}, {"now_hour": 3}, None],
    )
    question = ("ward:5", "treat", "nurse:kim")
    assert [engine.allowed(*question, context={"now_hour": hour}) for hour in (16, 8, 3)] == [True, True, False]
    assert engine.check(*question).missing_context == ("now_hour",)


def test_a_lookup_hands_the_context_to_all_that_it_checks():
    schema = """
        caveat under(org string, parents list<string>) { org in parents }
        definition user {}
        definition org {
          relation reach: user:* with under
          permission top = reach
        }
        definition app {
          relation granted: org
          permission list_view = granted->top
        }
        """
    engine = open_and_hold(
        schema,
        """org:o#reach@user:*[under:{"org":"o"}] app:x#granted@org:o""",
        {"under": Condition(lambda org, parents: org in parents, "org", "parents")},
        [{"parents": ["root", "o"]}, {"parents": ["root"]}, None],
    )
    question = ("app", "list_view", "user:u")
    (found,) = engine.lookup_resources(*question, context={"parents": ["root", "o"]})
    assert (found.resource_id, found.permissionship) == ("x", Permissionship.HAS_PERMISSION)
    assert list(engine.lookup_resources(*question, context={"parents": ["root"]})) == []
    (found,) = engine.lookup_resources(*question)
    assert (found.resource_id, found.permissionship) == ("x", Permissionship.CONDITIONAL)
    assert found.missing_context == ("parents",)


def context_world(caveat, row):
    return open_world(
        f"""
        caveat {caveat}
        definition user {{}}
        definition grid {{
          relation see: user with {caveat.partition("(")[0]}
          permission view = see
        }}
        """,
        [row],
    )


def ask_in_any_order(engine, contexts, right):
    """One bulk, each alone, in several orders: a value is what it is, whatever its text looks like beside others."""
    question = ("grid:1", "view", "user:u")
    rng = random.Random(16)
    for _ in range(10):
        order = list(range(len(contexts)))
        rng.shuffle(order)
        results = engine.check_bulk([(*question, contexts[index]) for index in order])
        assert [said(result) for result in results] == [right[index] for index in order]
        for index in order:
            assert said(engine.check(*question, context=contexts[index])) == right[index]
            found = [said_of(one) for one in engine.lookup_resources("grid", *question[1:], context=contexts[index])]
            assert found == [in_words(right[index])] * (right[index] != naive.DENIED)


def test_nested_lists_that_look_alike_are_different_contexts():
    engine = context_world('cell(x list<any>) { x == [["k"], "v"] }', "grid:1#see@user:u[cell]")
    contexts = [{"x": x} for x in ([["k"], "v"], [["k", "v"]], ["k", ["v"]], [[["k"], "v"]], ["[k]", "v"])]
    ask_in_any_order(engine, contexts, [naive.ALLOWED] + [naive.DENIED] * 4)


def test_lists_of_strings_that_look_alike_are_different_items_of_a_bulk():
    engine = context_world('tags(t list<string>) { t == ["a", "b"] }', "grid:1#see@user:u[tags]")
    contexts = [{"t": t} for t in (["a", "b"], ["a b"], ["a,b"], ["a", "b", ""], ["b", "a"])]
    ask_in_any_order(engine, contexts, [naive.ALLOWED] + [naive.DENIED] * 4)
    items = [("grid:1", "view", "user:u", contexts[0]), ("grid:1", "nosuch", "user:u"), ("grid:1", "view", "user:u")]
    first, second, third = engine.check_bulk(items)
    assert first.allowed and isinstance(second.error, licet.NotFound) and third.missing_context == ("t",)


def test_separators_in_values_do_not_make_two_contexts_one():
    engine = context_world('both(a string, b string) { a == "1" && b == "2" }', "grid:1#see@user:u[both]")
    contexts = [
        {"a": "1", "b": "2"},
        {"a": "1,b:2"},
        {"a": '1","b":"2'},
        {"b": "2", "a": "1"},
        {"a": "1", "b": "2", "c": "x"},
        {"a": "1"},
    ]
    right = [naive.ALLOWED, naive.DENIED, naive.DENIED, naive.ALLOWED, naive.ALLOWED, (naive.CONDITIONAL, ("b",))]
    ask_in_any_order(engine, contexts, right)


def test_a_wildcard_without_the_caveat_that_it_must_have_is_refused():
    engine = open_world(
        """
        caveat open_hours(hour int) { hour >= 8 && hour < 18 }
        definition user {}
        definition hall {
          relation visitor: user:* with open_hours | user
          permission enter = visitor
        }
        """,
        [],
    )
    with pytest.raises(licet.InvalidArgument) as caught:
        engine.touch("hall:1#visitor@user:*")
    assert "user:* with open_hours" in caught.value.message or "open_hours" in caught.value.message
    assert not engine.allowed("hall:1", "enter", "user:any", context={"hour": 9})
    assert resources(engine, "hall", "enter", "user:any", context={"hour": 9}) == []


# ------------------------------------------------------------ pages and cursors

SHELF = """
    definition user {}
    definition doc {
      relation owner: user
      permission edit = owner
    }
    """


@pytest.mark.parametrize("count", [99, 100, 101, 199, 200, 201, 1000])
def test_a_listing_ends_by_itself_after_exactly_so_many(count):
    engine = open_world(SHELF, [f"doc:d{n}#owner@user:u" for n in range(count)])
    found = [one.resource_id for one in engine.lookup_resources("doc", "edit", "user:u")]
    assert len(found) == len(set(found)) == count
    read = [str(one) for one in engine.read_relationships(resource_type="doc")]
    assert len(read) == len(set(read)) == count


def pages(call, limit):
    """All pages by cursor, none of them longer than the limit."""
    cursor, result = None, []
    while True:
        stream = call(limit=limit, cursor=cursor)
        page = list(stream)
        assert len(page) <= limit
        if not page:
            return result
        result.append(page)
        cursor = stream.cursor


def test_limit_and_cursor_of_a_lookup_of_subjects_are_applied():
    engine = open_world(SHELF, [f"doc:1#owner@user:u{n}" for n in range(10)])
    found = pages(lambda **page: engine.lookup_subjects("doc:1", "edit", "user", **page), 2)
    assert [len(page) for page in found] == [2] * 5
    assert sorted(one.subject_id for page in found for one in page) == [f"u{n}" for n in range(10)]


def test_ids_that_hold_separators_can_stand_on_any_border_of_a_page():
    ids = ["a|b", "c/d", "e=f", "g+h", "i-j", "k_l"]
    engine = open_world(SHELF, [f"doc:{oid}#owner@user:{sid}" for oid in ids for sid in ids])
    for limit in (1, 2, 5):
        read = pages(lambda **page: engine.read_relationships(resource_type="doc", **page), limit)
        assert sorted((r.resource_id, r.subject_id) for page in read for r in page) == sorted(
            itertools.product(ids, ids)
        )
        found = pages(lambda **page: engine.lookup_resources("doc", "edit", "user:a|b", **page), limit)
        assert sorted(one.resource_id for page in found for one in page) == sorted(ids)
        found = pages(lambda **page: engine.lookup_subjects("doc:c/d", "edit", "user", **page), limit)
        assert sorted(one.subject_id for page in found for one in page) == sorted(ids)


def test_a_cursor_that_was_shortened_or_emptied_is_refused():
    engine = open_world(SHELF, [f"doc:{n}#owner@user:u" for n in range(9)])
    stream = engine.read_relationships(resource_type="doc", limit=3)
    list(stream)
    cursor = stream.cursor
    damaged = [cursor[:-1], cursor[: len(cursor) // 2], cursor[:8], cursor + "A", "", cursor.swapcase()]
    for text in damaged:
        with pytest.raises(licet.InvalidToken):
            list(engine.read_relationships(resource_type="doc", limit=3, cursor=text))
        with pytest.raises(licet.InvalidToken):
            list(engine.lookup_resources("doc", "edit", "user:u", limit=3, cursor=text))


def test_a_listing_that_is_cut_says_so():
    rows = [f"doc:d{n}#owner@user:u" for n in range(3000)]
    engine = open_world(SHELF, rows)
    stream = engine.lookup_resources("doc", "edit", "user:u", limit=1000)
    assert len(list(stream)) == 1000
    assert stream.cursor is not None
    assert len(list(engine.lookup_resources("doc", "edit", "user:u"))) == 3000
    engine = open_world(SHELF, [f"doc:one#owner@user:u{n}" for n in range(3000)], max_steps=1000)
    with pytest.raises(licet.LimitExceeded):
        list(engine.lookup_subjects("doc:one", "edit", "user"))


# -------------------------------------------------------------------- schemas


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("  permission * = one", (5, 14)),
        ("  permission _ = one", (5, 3)),
        ("  permission 1x = one", (5, 3)),
        ("  relation: user", (5, 11)),
        ("  permission per =", (6, 1)),
        ("  permission per = one +", (6, 1)),
        ("  permission per = ()", (5, 21)),
    ],
)
def test_a_name_or_expression_that_is_none_is_a_schema_error_at_its_place(line, place):
    engine = open_world(SHELF, ["doc:1#owner@user:u"])
    text = "definition user {}\n\ndefinition box {\n  relation one: user\n" + line + "\n}\n"
    with pytest.raises(licet.SchemaError) as caught:
        engine.write_schema(text)
    assert (caught.value.line, caught.value.column) == place
    assert engine.allowed("doc:1", "edit", "user:u")
    with pytest.raises(licet.SchemaError) as caught:
        engine.write_schema("definition {}")
    assert (caught.value.line, caught.value.column) == (1, 12)


def test_a_caveat_may_begin_anywhere_in_a_long_schema():
    filler = "".join(
        f"definition filler_{n:04} {{\n  relation one: user\n  relation another: user\n  permission all = one + another\n}}\n"
        for n in range(2000)
    )
    text = (
        "definition user {}\n"
        + filler
        + "caveat late(x int) { x > 0 }\ndefinition doc {\n  relation see: user with late\n}\n"
    )
    assert len(text) > 150_000
    with licet.open() as engine:
        engine.write_schema(text)
        engine.touch("doc:1#see@user:u[late]")
        assert engine.allowed("doc:1", "see", "user:u", context={"x": 1})
        assert not engine.allowed("doc:1", "see", "user:u", context={"x": 0})


def test_letters_of_every_kind_may_stand_in_strings_and_comments():
    text = (
        "/** žluťoučký 🐎 */\ndefinition user {}\n// 日\n"
        'caveat greet(x string) { x == "žluťoučký 🐎" || x.startsWith("日") }\n'
        "definition doc {\n  relation see: user with greet\n}\n"
    )
    for variant in (text, text.replace("\n", "\r\n")):
        with licet.open() as engine:
            engine.write_schema(variant)
            engine.touch("doc:1#see@user:u[greet]")
            assert engine.allowed("doc:1", "see", "user:u", context={"x": "žluťoučký 🐎"})
            assert engine.allowed("doc:1", "see", "user:u", context={"x": "日本"})
            assert not engine.allowed("doc:1", "see", "user:u", context={"x": "zlutoucky"})
    with pytest.raises(licet.SchemaError) as caught:
        licet.Schema.parse('caveat greet(x string) { x == "🐎日" } nonsense')
    assert (caught.value.line, caught.value.column) == (1, 38)


def test_an_expiration_before_a_caveat_is_refused_with_the_right_order():
    text = (
        "use expiration\ncaveat cav(x int) { x > 0 }\ndefinition user {}\n"
        "definition doc {\n  relation see: user with expiration and cav\n}\n"
    )
    with pytest.raises(licet.SchemaError) as caught:
        licet.Schema.parse(text)
    assert (caught.value.line, caught.value.column) == (5, 38)
    assert 'write "with NAME and expiration"' in caught.value.message
    licet.Schema.parse(text.replace("expiration and cav", "cav and expiration"))
    with pytest.raises(licet.SchemaError) as caught:
        licet.Schema.parse(text.replace("expiration and cav", "expiration").replace("use expiration\n", ""))
    assert "`use expiration`" in caught.value.message


def test_the_left_side_of_an_arrow_is_a_relation():
    text = (
        "definition user {}\ndefinition wing {\n  relation upper: wing\n  relation warden: user\n"
        "  permission above = upper\n  permission see = warden + above->see\n}\n"
    )
    with pytest.raises(licet.SchemaError) as caught:
        licet.Schema.parse(text)
    assert (caught.value.line, caught.value.column) == (6, 29)
    assert "`above`" in caught.value.message and "`upper`" in caught.value.message
    licet.Schema.parse(text.replace("above->see", "upper->see"))


def test_permissions_in_a_circle_are_listed_in_order():
    text = (
        "definition user {}\ndefinition doc {\n  relation rel: user\n  permission aaa = bbb\n"
        "  permission bbb = ccc\n  permission ccc = aaa\n}\n"
    )
    with pytest.raises(licet.SchemaError) as caught:
        licet.Schema.parse(text)
    assert "aaa (4:3) -> bbb (5:3) -> ccc (6:3) -> aaa" in caught.value.message
    with pytest.raises(licet.SchemaError) as caught:
        licet.Schema.parse("definition user {}\ndefinition doc {\n  permission eee = eee\n}\n")
    assert "eee (3:3) -> eee" in caught.value.message


def test_compiling_a_long_chain_of_permissions_takes_time_in_proportion():
    def text(count):
        lines = "".join(f"  permission per{n} = per{n + 1}\n" for n in range(count))
        return f"definition user {{}}\ndefinition doc {{\n  relation per{count}: user\n{lines}}}\n"

    def least(count):
        times = []
        for _ in range(5):
            begun = time.process_time()
            licet.Schema.parse(text(count))
            times.append(time.process_time() - begun)
        return min(times)

    assert least(4000) < 60 * least(400)


def test_members_of_a_circle_are_named_with_their_places_wherever_they_stand():
    before = "".join(f"definition filler{n} {{\n  relation one: user\n}}\n" for n in range(500))
    circle = "definition doc {\n  permission aaa = bbb\n  permission bbb = ccc\n  permission ccc = aaa\n}\n"
    with pytest.raises(licet.SchemaError) as caught:
        licet.Schema.parse("definition user {}\n" + before + circle)
    first = 1 + 3 * 500 + 2
    places = re.findall(r"(\w+) \((\d+):(\d+)\)", caught.value.message)
    assert places == [("aaa", str(first), "3"), ("bbb", str(first + 1), "3"), ("ccc", str(first + 2), "3")]


def test_members_of_a_circle_are_named_with_their_files(tmp_path):
    head = "use import\nuse partial\n"
    (tmp_path / "one.zed").write_text(head + "partial part_one {\n  permission bbb = ccc\n}\n")
    (tmp_path / "two.zed").write_text(head + "partial part_two {\n  permission ccc = aaa\n}\n")
    text = (
        head + 'import "one.zed"\nimport "two.zed"\ndefinition user {}\n'
        "definition doc {\n  ...part_one\n  ...part_two\n  permission aaa = bbb\n}\n"
    )
    with pytest.raises(licet.SchemaError) as caught:
        licet.Schema.parse(text, folder=tmp_path)
    assert caught.value.message.endswith("bbb (one.zed:4:3) -> ccc (two.zed:4:3) -> aaa (9:3) -> bbb")
    (tmp_path / "root.zed").write_text(text)
    command = [sys.executable, "-m", "licet", "schema", "check", "--json", str(tmp_path / "root.zed")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "bbb (one.zed:4:3) -> ccc (two.zed:4:3) -> aaa (9:3) -> bbb" in json.dumps(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("use nosuchflag\ndefinition user {}", "nosuchflag"),
        ("caveat cav(x int) { nosuchfunction(x) }\ndefinition user {}", "nosuchfunction"),
        ("caveat cav(x map<string, nosuchtype>) { true }\ndefinition user {}", "nosuchtype"),
        ("caveat cav(x map<string, map<int>, int>) { true }\ndefinition user {}", ""),
        ("definition user {}\nnamespace doc {}", "namespace"),
        ("definition user {\n  relation one: user with nosuchcaveat\n}", "nosuchcaveat"),
    ],
)
def test_what_is_not_supported_is_an_error_that_names_it(text, named):
    with pytest.raises(licet.SchemaError) as caught:
        licet.Schema.parse(text)
    assert named in caught.value.message
    assert caught.value.line >= 1 and caught.value.column >= 1


def test_rows_of_a_type_that_the_schema_no_longer_allows_count_for_nobody():
    wide = "definition user {}\ndefinition bot {}\ndefinition note {\n  relation viewer: user | bot\n  permission view = viewer\n}\n"
    narrow = wide.replace("user | bot", "user")
    with licet.open() as engine:
        engine.write_schema(wide)
        engine.touch("note:1#viewer@bot:x", "note:1#viewer@user:u")
        with pytest.raises(licet.SchemaError) as caught:
            engine.write_schema(narrow)
        assert "note:1#viewer@bot:x" in caught.value.message
        impact = list(engine.schema_impact(narrow))
        lost = [(one.permission, one.subject) for one in impact if one.kind == "lost"]
        assert sorted(lost) == [("view", "bot:x"), ("viewer", "bot:x")]


# --------------------------------------------------------------------- writing


def test_a_relationship_that_the_schema_does_not_allow_is_refused_wherever_it_comes_from():
    engine = open_world(
        """
        definition user {}
        definition bot {}
        definition team {
          relation member: user
        }
        definition note {
          relation viewer: user | team#member
          permission view = viewer
        }
        """,
        [],
    )
    for row in ("note:1#viewer@bot:x", "note:1#viewer@team:t", "note:1#nosuch@user:x", "ghost:1#viewer@user:x"):
        for call in (engine.touch, engine.create, lambda row: engine.import_relationships([row])):
            with pytest.raises((licet.InvalidArgument, licet.NotFound)):
                call(row)
    assert engine.stats().relationships == 0


def test_a_write_is_whole_or_refused_and_an_import_of_many_is_whole():
    schema = """
        definition user {}
        definition room {
          relation guest: user:*
          relation banned: user
          permission enter = guest - banned
        }
        """
    engine = open_world(schema, [])
    bans = [f"room:r{n}#banned@user:mal" for n in range(40_000)]
    before = engine.stats().revision
    with pytest.raises(licet.LimitExceeded):
        engine.touch(*bans)
    assert (engine.stats().relationships, engine.stats().revision) == (0, before)
    token = engine.import_relationships(bans + ["room:r39999#guest@user:*"]).token
    assert not engine.allowed("room:r39999", "enter", "user:mal", consistency=licet.at_exactly(token))
    assert engine.allowed("room:r39999", "enter", "user:ann", consistency=licet.at_exactly(token))
    assert len(resources(engine, "room", "banned", "user:mal")) == 40_000


def test_a_touch_without_an_expiration_takes_the_old_one_away():
    clock = ManualClock(datetime(2030, 1, 1, tzinfo=timezone.utc))
    schema = """
        use expiration
        definition user {}
        definition pass {
          relation holder: user | user with expiration
          relation timed: user with expiration
          permission enter = holder
        }
        """
    engine = open_world(schema, [], clock=clock)
    engine.touch("pass:1#holder@user:u[expiration:2030-01-01T00:00:02Z]")
    engine.touch("pass:1#holder@user:u")
    clock.advance(timedelta(seconds=3))
    assert engine.allowed("pass:1", "enter", "user:u")
    assert [str(one) for one in engine.read_relationships(resource_type="pass")] == ["pass:1#holder@user:u"]
    with pytest.raises(licet.AlreadyExists):
        engine.create("pass:1#holder@user:u")
    engine.touch("pass:1#timed@user:u[expiration:2030-01-01T00:01:00Z]")
    with pytest.raises(licet.InvalidArgument):
        engine.touch("pass:1#timed@user:u")


def test_an_expiration_is_a_moment_whatever_the_time_zone():
    code = """
        import os, time
        os.environ["TZ"] = "Pacific/Auckland"
        time.tzset()
        from datetime import datetime, timedelta, timezone
        import licet
        schema = "use expiration\\ndefinition user {}\\ndefinition doc {\\n  relation see: user with expiration\\n}\\n"
        now = datetime.now(timezone.utc)
        engine = licet.open()
        engine.write_schema(schema)
        for name, minutes in (("later", 10), ("gone", -10)):
            at = (now + timedelta(minutes=minutes)).astimezone()
            engine.touch(licet.Relationship("doc", name, "see", "user", "u", expiration=at))
        print(engine.allowed("doc:later", "see", "user:u"), engine.allowed("doc:gone", "see", "user:u"))
        (one,) = engine.export_relationships()
        print(one.expiration.endswith("Z"), abs((one.expires_at - now).total_seconds() - 600) < 1)
        """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True False\nTrue True\n", "")


def test_a_watch_with_checkpoints_reports_revisions_that_changed_nothing():
    engine = open_world(SHELF, ["doc:1#owner@user:u"])
    start = engine.touch("doc:1#owner@user:u")
    tokens = [engine.touch("doc:1#owner@user:u"), engine.delete("doc:9#owner@user:u")]
    with engine.watch(start, checkpoints=True, timeout=5) as changes:
        seen = []
        for change in changes:
            assert change.operation == "checkpoint"
            seen.append(change.token)
            if tokens[-1] in seen:
                break
    assert engine.allowed("doc:1", "owner", "user:u", consistency=licet.at_least(seen[-1]))


def test_ids_that_differ_in_case_or_accents_are_different():
    engine = open_world(SHELF, ["doc:1#owner@user:Ada"])
    engine.create("doc:1#owner@user:ada")
    engine.delete("doc:1#owner@user:ada")
    assert engine.allowed("doc:1", "edit", "user:Ada")
    for other in ("ada", "ADA", "aDA"):
        assert not engine.allowed("doc:1", "edit", f"user:{other}")
        assert resources(engine, "doc", "edit", f"user:{other}") == []
    with pytest.raises(licet.InvalidArgument):
        engine.allowed("doc:1", "edit", "user:\u00c1da")


def test_the_same_relationship_twice_in_one_import_or_write_is_an_error():
    engine = open_world(SHELF, [])
    with pytest.raises(licet.AlreadyExists):
        engine.import_relationships(["doc:1#owner@user:u", "doc:2#owner@user:u", "doc:1#owner@user:u"])
    with pytest.raises(licet.InvalidArgument):
        engine.write([licet.touch("doc:1#owner@user:u"), licet.delete("doc:1#owner@user:u")])
    assert engine.stats().relationships == 0


# ---------------------------------------------------------- limits, threads, memory


def test_what_was_cut_short_is_remembered_nowhere():
    """The same goals again in one bulk and with other limits: what ran out is an error, and what is known is right."""
    schema = "definition user {}\ndefinition zone {\n  relation viewer: user | zone#viewer\n  relation guest: user\n  permission view = guest + viewer\n}\n"
    rows = [f"zone:z{n}#viewer@zone:z{n + 1}#viewer" for n in range(9)] + [
        "zone:z9#viewer@user:e",
        "zone:z0#guest@user:e",
    ]
    engine = open_world(schema, rows, max_depth=5)
    items = [("zone:z0", "viewer", "user:e"), ("zone:z0", "view", "user:e"), ("zone:z5", "viewer", "user:e")]
    items += [("zone:z4", "viewer", "user:e"), ("zone:z9", "viewer", "user:e"), ("zone:z0", "viewer", "user:e")]
    right = [None, True, True, None, True, None]
    for order in itertools.permutations(range(len(items))):
        results = engine.check_bulk([items[index] for index in order])
        for index, result in zip(order, results):
            if right[index] is None:
                assert isinstance(result.error, licet.LimitExceeded)
            else:
                assert result.allowed
    deep = open_world(schema, rows)
    assert deep.allowed("zone:z0", "view", "user:e") and deep.allowed("zone:z0", "viewer", "user:e")


def test_unrelated_relationships_make_no_check_longer():
    schema = """
        definition user {}
        definition role {
          relation member: user
        }
        definition org {
          relation admin: role#member
          permission manage = admin
        }
        definition doc {
          relation org: org
          permission edit = org->manage
        }
        """
    rows = ["doc:1#org@org:o"]
    rows += [f"org:o#admin@role:r{n}#member" for n in range(1200)]
    rows += [f"role:r{n}#member@user:u{n}" for n in range(1200)]

    def steps_needed(more):
        """Of a denial, which looks at everything that is related."""
        low, high = 1000, 20_000
        while low < high:
            middle = (low + high) // 2
            with open_world(schema, rows, max_steps=middle) as engine:
                engine.import_relationships(more)
                (result,) = engine.check_bulk([("doc:1", "edit", "user:other")])
            assert not result.allowed
            low, high = (low, middle) if result.error is None else (middle + 1, high)
        return low

    few = steps_needed(["doc:2#org@org:p"])
    assert 1000 < few < 20_000
    many = [f"doc:x{n}#org@org:x{n % 50}" for n in range(2000)]
    many += [f"org:x{n}#admin@role:x{n}#member" for n in range(50)]
    many += [f"role:x{n % 50}#member@user:x{n}" for n in range(2000)]
    assert steps_needed(many) == few


def test_explanations_and_plain_bulks_beside_one_another_keep_their_own():
    rows = [f"doc:d{n}#owner@user:u{n % 3}" for n in range(50)]
    engine = open_world(SHELF, rows)
    items = [(f"doc:d{n}", "edit", f"user:u{n % 2}") for n in range(50)]
    right = [n % 3 == n % 2 for n in range(50)]
    strange = []
    end = time.monotonic() + 1.5

    def explain():
        while time.monotonic() < end:
            for item, answer in zip(items, right):
                trace = engine.explain(*item)
                if trace.allowed != answer or trace.root.permission != "edit":
                    strange.append(item)

    def bulk():
        while time.monotonic() < end:
            if [result.allowed for result in engine.check_bulk(items)] != right:
                strange.append("bulk")

    threads = [threading.Thread(target=target) for target in (explain, bulk) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert strange == []


FOLDERS = """
    definition user {}
    definition folder {
      relation parent: folder
      relation viewer: user
      permission view = viewer + parent->view
    }
    definition document {
      relation folder: folder
      permission view = folder->view
    }
    """


def test_listings_give_their_memory_back():
    rows = [f"folder:f{n}#parent@folder:f{(n - 1) // 4}" for n in range(1, 341)] + ["folder:f0#viewer@user:root"]
    rows += [f"document:d{n}#folder@folder:f{n % 341}" for n in range(5000)]
    engine = open_world(FOLDERS, rows)
    assert len(resources(engine, "document", "view", "user:root")) == 5000
    engine.lookup_resources("document", "view", "user:root")
    gc.collect()
    before = engine.stats().memory_bytes
    for _ in range(20):
        for _, _ in zip(engine.lookup_resources("document", "view", "user:root"), range(700)):
            pass
        assert len(list(engine.lookup_resources("folder", "view", "user:root"))) == 341
    gc.collect()
    assert engine.stats().memory_bytes <= before + (64 << 10)


def test_a_listing_without_memory_is_an_error_and_the_engine_goes_on():
    with licet.open(memory_limit_bytes=2 << 20) as engine:
        engine.write_schema(SHELF)
        with pytest.raises(licet.OutOfMemory):
            for start in range(0, 1_000_000, 500):
                engine.touch(*(f"doc:one#owner@user:u{n}" for n in range(start, start + 500)))
        full = engine.stats().memory_bytes
        for _ in range(3):
            with pytest.raises(licet.OutOfMemory):
                list(engine.lookup_subjects("doc:one", "edit", "user"))
            assert engine.allowed("doc:one", "edit", "user:u7")
            assert not engine.allowed("doc:one", "edit", "user:nobody")
        assert engine.stats().memory_bytes <= full


def test_engines_are_made_and_used_in_any_thread_and_loop():
    def question(engine):
        return engine.allowed("doc:1", "edit", "user:u")

    made = [open_world(SHELF, ["doc:1#owner@user:u"])]
    thread = threading.Thread(target=lambda: made.append(open_world(SHELF, ["doc:1#owner@user:u"])))
    thread.start()
    thread.join()

    async def in_a_loop():
        made.append(open_world(SHELF, ["doc:1#owner@user:u"]))
        loop = asyncio.get_running_loop()
        return [await loop.run_in_executor(None, question, engine) for engine in made]

    assert asyncio.run(in_a_loop()) == [True] * 3
    assert [question(engine) for engine in made] == [True] * 3
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()


def test_engines_of_one_process_answer_by_their_own_schema():
    texts = ["owner", "owner + viewer", "viewer - owner"]
    engines = []
    for text in texts:
        schema = f"definition user {{}}\ndefinition doc {{\n  relation owner: user\n  relation viewer: user\n  permission view = {text}\n}}\n"
        engines.append(open_world(schema, ["doc:1#owner@user:o", "doc:1#viewer@user:v"]))
    right = [(True, False), (True, True), (False, True)]
    for _ in range(3000):
        for engine, answers in zip(engines, right):
            assert (engine.allowed("doc:1", "view", "user:o"), engine.allowed("doc:1", "view", "user:v")) == answers
    engines.pop(0).close()
    assert [engine.allowed("doc:1", "view", "user:v") for engine in engines] == [True, True]


def test_permissions_of_one_question_are_of_one_revision():
    schema = """
        definition user {}
        definition order {
          relation one: user
          relation two: user
          permission read = one
          permission pay = two
          permission void = one & two
        }
        """
    engine = open_world(schema, ["order:456#one@user:123"])
    stop = threading.Event()

    def toggle():
        while not stop.is_set():
            engine.write([licet.delete("order:456#one@user:123"), licet.touch("order:456#two@user:123")])
            engine.write([licet.delete("order:456#two@user:123"), licet.touch("order:456#one@user:123")])

    thread = threading.Thread(target=toggle)
    thread.start()
    try:
        for _ in range(500):
            found = engine.permissions("order:456", "user:123")
            assert list(found) == ["read", "pay", "void"]
            assert found["read"].allowed != found["pay"].allowed
            assert not found["void"].allowed
            (token,) = {result.token for result in found.values()}
            for name, result in found.items():
                alone = engine.check("order:456", name, "user:123", consistency=licet.at_exactly(token))
                assert alone.allowed == result.allowed
    finally:
        stop.set()
        thread.join()
    result = engine.permissions("order:456", "user:123", ["read", "nosuch"])["nosuch"]
    assert isinstance(result.error, licet.NotFound) and "nosuch" in result.error.message


# --------------------------------------------------- text, secrets, the process


def test_a_subject_that_is_not_given_is_an_error_and_never_a_grant():
    engine = open_world("definition user {}\ndefinition doc {\n  relation see: user:*\n}\n", ["doc:1#see@user:*"])
    assert engine.allowed("doc:1", "see", "user:anybody")
    for subject in ("", "user:", ":a", "user", "#", "user:*"):
        with pytest.raises(licet.InvalidArgument):
            engine.allowed("doc:1", "see", subject)
    with pytest.raises(TypeError):
        engine.allowed("doc:1", "see", None)


@pytest.mark.parametrize(
    ("uri", "password"),
    [
        ("postgresql://ops:pa:ss@w%rd@h:notaport/app", "pa:ss@w%rd"),
        ("postgresql://ops:s3cr3t@[::1/app", "s3cr3t"),
        ("postgresql://bo:Tr0ub4dor@127.0.0.1:1/app", "Tr0ub4dor"),
    ],
)
def test_no_piece_of_a_password_is_in_an_error(uri, password):
    with pytest.raises(licet.Error) as caught, licet.open(uri, wait_timeout_ms=50) as engine:
        engine.read_schema()
    told = str(caught.value) + repr(caught.value) + repr(caught.value.args) + repr(caught.value.__cause__)
    for start in range(len(password) - 3):
        assert password[start : start + 4] not in told


def test_opening_in_vain_leaves_nothing_behind():
    def descriptors():
        return len(os.listdir("/proc/self/fd"))

    kept = []
    before = descriptors()
    for _ in range(1000):
        # Which of the two: whether the refusal has come when the time is over.
        with pytest.raises((licet.Unavailable, licet.DeadlineExceeded)) as caught:
            with licet.open("postgresql://ops:wrong@127.0.0.1:1/app", wait_timeout_ms=10) as engine:
                engine.read_schema()
        kept.append(caught.value)
    del engine  # a closed one has its descriptors until it is let go of
    assert descriptors() <= before


def test_no_character_cuts_a_text():
    engine = open_world(SHELF, ["doc:1#owner@user:a"])
    for question in (("doc:1\0x", "edit", "user:a"), ("doc:1", "edit\0", "user:a"), ("doc:1", "edit", "user:a\0b")):
        with pytest.raises(licet.InvalidArgument):
            engine.allowed(*question)
    with pytest.raises(licet.SchemaError):
        engine.write_schema(SHELF + "\0 nonsense")
    with pytest.raises(ValueError):
        engine.allowed("doc:1", "edit", "user:\ud800")
    for other in (b"user:a", memoryview(b"user:a"), bytearray(b"user:a")):
        with pytest.raises(TypeError):
            engine.allowed("doc:1", "edit", other)
    grid = context_world('cell(x string) { x == "a\\u0000b" }', "grid:1#see@user:u[cell]")
    assert [grid.allowed("grid:1", "view", "user:u", context={"x": x}) for x in ("a\0b", "a")] == [True, False]


def test_the_extension_brings_no_library_of_a_database_or_of_tls():
    """It uses those of the system, as others in the process do."""
    from licet import _licet

    linked = subprocess.run(["ldd", _licet.__file__], capture_output=True, text=True, check=True).stdout
    package = Path(_licet.__file__).resolve().parent
    found = dict(re.findall(r"(libpq|libssl|libcrypto)\.so\S* => (\S+)", linked))
    assert set(found) == {"libpq", "libssl", "libcrypto"}
    assert not any(Path(path).resolve().is_relative_to(package.parent) for path in found.values())
    assert sorted(path.name for path in package.glob("*.so*")) == [Path(_licet.__file__).name]
    for order in ("import licet, ssl, psycopg", "import psycopg, ssl, licet"):
        code = order + "\nimport hashlib\nssl.create_default_context()\nlicet.open().close()\nprint('fine')"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout) == (0, "fine\n")


def test_a_process_may_end_while_it_watches():
    code = """
        import threading, licet
        engine = licet.open()
        engine.write_schema("definition user {}\\ndefinition doc {\\n  relation owner: user\\n}")
        changes = engine.watch(timeout=60)
        threading.Thread(target=lambda: list(changes), daemon=True).start()
        engine.touch("doc:a#owner@user:b")
        print("end")
        """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_validation_files_of_one_run_share_nothing(tmp_path):
    schema = "schema: |-\n  definition user {}\n  definition note {\n    relation owner: user\n    permission read = owner\n  }\n"
    granting = tmp_path / "a.yaml"
    granting.write_text(
        schema + 'relationships: "note:1#owner@user:z"\nassertions:\n  assertTrue: ["note:1#read@user:z"]\n'
    )
    denying = tmp_path / "b.yaml"
    denying.write_text(schema + 'relationships: ""\nassertions:\n  assertFalse: ["note:1#read@user:z"]\n')
    for order in ((granting, denying), (denying, granting)):
        assert [bool(licet.validate(path)) for path in order] == [True, True]
        done = subprocess.run(
            [sys.executable, "-m", "licet", "validate", *map(str, order)], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stdout + done.stderr


# What CPython fills, or declares without const; what linkers and compilers make; and what a process has once: the number
# of its threads so far, and the engines that a fork concerns.
WRITABLE = re.compile(
    r"\w+_(slots|specs?|getset|methods|members|definition)|names(\.\d+)?|"
    r"DW\.ref\.\w+|__TMC_END__|__dso_handle|completed(\.\d+)?|given(\.\d+)?|registry"
)


def test_the_extension_has_no_data_that_engines_could_share():
    from licet import _licet

    told = subprocess.run(["objdump", "-t", _licet.__file__], capture_output=True, text=True, check=True).stdout
    symbols = [line.split() for line in told.splitlines()]
    names = {words[-1] for words in symbols if {".data", ".bss"} & set(words[:-1]) and not words[-1].startswith(".")}
    if not names:
        pytest.skip("the extension was stripped")
    assert {name for name in names if not WRITABLE.fullmatch(name)} == set()
