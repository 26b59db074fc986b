"""Random worlds that both may hold, and random requests about them.

Most checks of a random world are denials. So licet is asked more than is compared: of what it denies a part is, so that
the others have the shares they are to have.
"""

import contexts
import worlds
from naive import World

# Nothing expires while it is looked at.
PAST, FUTURE = 1_000_000_000 * worlds.SECOND, 4_100_000_000 * worlds.SECOND
LOW = 8  # as high as a path may be on which each step asks the next one twice: SpiceDB does so
ASKED = 10000  # checks of a world: as many as one bulk check takes
COMPARED = {"allowed": 300, "conditional": 330, "error": 40}  # at most so many of them; and denials, as many in all
DENIALS = 60, 250  # at least, at most


def random_world(rng):
    """(world, acyclic). Circles are rare and mostly small: SpiceDB has no answer to what leads into one, and takes long
    for it."""
    kind = rng.choices(["acyclic", "closed", "wild"], [0.92, 0.07, 0.01])[0]
    world = worlds.random_world(rng, acyclic=kind != "wild", caveats=rng.random() < 0.9)
    if rng.random() < 0.3:
        world = worlds.with_wildcards(rng, world)
    rows = {row: _settled(attribute) for row, attribute in world.relationships.items()}
    if any(str(members.get("climb")).count("'climb'") > 1 for members in world.schema.values()):
        rows = {row: attribute for row, attribute in rows.items() if _height(row) <= LOW}
    if kind == "closed":
        _close(rng, rows)
    return World(world.schema, rows, world.caveats), kind == "acyclic"


def _height(row):
    """How far up a long path it stands."""
    return max(int(oid[4:]) if oid.startswith("deep") else 0 for oid in (row[1], row[4]))


def _close(rng, rows):
    """Adds relationships that lead back to where another one started."""
    up = [row for row in rows if row[0] == row[3] and row[4] != "*"]
    for rtype, rid, relation, stype, sid, srelation in rng.sample(up, min(len(up), 2)):
        back = (rtype, sid, relation, stype, rid, srelation)
        rows.setdefault(back, rows[rtype, rid, relation, stype, sid, srelation])


def _unmapped(context):
    """IPv4 addresses as such: what an older SpiceDB makes of them in IPv6 form is known, see caveat_known.py."""
    return {key: value[7:] if str(value).startswith("::ffff:") else value for key, value in context.items()}


def _settled(attribute):
    attribute = attribute._replace(context=tuple(_unmapped(dict(attribute.context)).items()))
    if attribute.expires is None:
        return attribute
    gone = attribute.expires <= worlds.NOON * worlds.SECOND
    fraction = attribute.expires % worlds.SECOND
    return attribute._replace(expires=(PAST if gone else FUTURE) + fraction)


def schema_text(world):
    return worlds.schema_text(world.schema, world.caveats)


# ------------------------------------------------------------------ requests


def check(resource, permission, subject, context=None):
    return {"op": "check", "resource": resource, "permission": permission, "subject": subject, "context": context}


def lookup_resources(otype, permission, subject, context=None, limit=None):
    request = {"op": "lookup_resources", "type": otype, "permission": permission, "subject": subject}
    return {**request, "context": context, "limit": limit}


def lookup_subjects(resource, permission, otype, relation=None, context=None):
    request = {"op": "lookup_subjects", "resource": resource, "permission": permission, "type": otype}
    return {**request, "relation": relation, "context": context}


def expand(resource, permission):
    return {"op": "expand", "resource": resource, "permission": permission}


def read(given, limit=None):
    return {"op": "read", "filter": given, "limit": limit}


def write(updates, preconditions=()):
    return {"op": "write", "updates": updates, "preconditions": list(preconditions)}


def delete(given, preconditions=()):
    return {"op": "delete", "filter": given, "preconditions": list(preconditions)}


class Requests:
    """About one world."""

    def __init__(self, rng, world):
        self.rng, self.world = rng, world
        self.subjects = list(map(worlds.subject_text, worlds.subjects(rng, world)))
        self.questions = worlds.questions(world)
        self.objects = ["%s:%s" % each for each in worlds.objects(world)]
        self.rows = list(world.relationships.items())

    def _context(self):
        """Most parameters have a value in half of the contexts, and few in the others."""
        context = contexts.asked(self.rng, self.world.caveats)
        return None if context is None else _unmapped(context)

    def _question(self):
        otype, oid, name = self.rng.choice(self.questions)
        return "%s:%s" % (otype, oid), name

    def checks(self):
        """Candidates, each once. A few contexts only: SpiceDB puts what shares one into one batch."""
        given = [None, {}] + [self._context() for _ in range(2)]
        made = {}
        for _ in range(ASKED):
            key = (*self._question(), self.rng.choice(self.subjects), self.rng.randrange(len(given)))
            made[key] = check(*key[:3], given[key[3]])
        return list(made.values())

    def chosen(self, checks, answers):
        sorts = {}
        for request, answer in zip(checks, answers):
            sorts.setdefault(answer[0], []).append(request)
        denied = sorts.pop("denied", [])
        kept = [r for sort, requests in sorts.items() for r in requests[: COMPARED[sort]]]
        return kept + denied[: min(max(len(kept) // 2, DENIALS[0]), DENIALS[1])]

    # What is asked one by one.

    def _wrong(self, request):
        """The request with a name that is not there, or that may not be there."""
        field = self.rng.choice([name for name in ("resource", "permission", "subject", "type") if name in request])
        value = request[field]
        if field == "permission":
            value = self.rng.choice(["unheard", "x", value.upper()])
        elif field == "type":
            value = self.rng.choice(["unheard", "Un"])
        else:
            otype, _, rest = value.partition(":")
            wrong = ["unheard:" + rest, otype + ":*", otype + ":a b", otype + ":"]
            if field == "subject":
                wrong += [otype + ":x#unheard", otype + ":*", otype + ":*"]
            value = self.rng.choice(wrong)
        return {**request, field: value}

    def _lookup_resources(self):
        subject = self.rng.choice(self.subjects)
        otype, _, name = self.rng.choice(self.questions)
        limit = self.rng.choice([None, None, None, 1, 2, 5])
        return lookup_resources(otype, name, subject, self._context(), limit)

    def _lookup_subjects(self):
        subject = self.rng.choice(self.subjects)
        relation = subject.partition("#")[2] or None
        return lookup_subjects(*self._question(), subject.partition(":")[0], relation, self._context())

    def _filter(self):
        row = self.rng.choice(self.rows)[0] if self.rows else ("user", "u0", "rel0", "user", "u0", None)
        fields = {
            "resource_type": row[0],
            "resource_id": row[1],
            "relation": row[2],
            "subject_type": row[3],
            "subject_id": row[4],
            "subject_relation": row[5],
        }
        given = {name: value for name, value in fields.items() if value is not None and self.rng.random() < 0.4}
        if "subject_id" in given or "subject_relation" in given:
            given["subject_type"] = row[3]
        if self.rng.random() < 0.15:
            given.pop("resource_id", None)
            given["resource_id_prefix"] = row[1][: self.rng.randint(1, 2)]
        if self.rng.random() < 0.3:
            given[self.rng.choice(list(fields))] = self.rng.choice(["unheard", "perm0", "u0", "no such"])
        return given

    def _read(self):
        return read(self._filter(), self.rng.choice([None, None, 1, 3, 1001]))

    def _update(self):
        kind = self.rng.choice(["create", "touch", "delete"])
        if not self.rows:
            return [kind, "user:u0#rel0@user:u0"]
        row, attribute = self.rng.choice(self.rows)
        pick = self.rng.random()
        if pick < 0.4:
            attribute = worlds.other_attribute(self.rng, self.world, row)
        elif pick < 0.7:
            at = self.rng.randrange(6)
            row = (*row[:at], self.rng.choice(["unheard", "perm0", "rel0", "user", "group"]), *row[at + 1 :])
        elif pick < 0.8:
            row = (*row[:4], "fresh", row[5])
        return [kind, worlds.relationship_text(row, _settled(attribute))]

    def _preconditions(self):
        return [
            [self.rng.choice(["must", "must not"]), self._filter()] for _ in range(self.rng.choice([0, 0, 0, 1, 2]))
        ]

    def _write(self):
        return write([self._update() for _ in range(self.rng.choice([1, 1, 2, 5]))], self._preconditions())

    def reading(self):
        """Requests that change nothing, in random order."""
        made = [self._wrong(check(*self._question(), self.rng.choice(self.subjects))) for _ in range(8)]
        made += [check(*self._question(), self.rng.choice(self.subjects), self._context()) for _ in range(6)]
        for one, count in ((self._lookup_resources, 8), (self._lookup_subjects, 8)):
            requests = [one() for _ in range(count)]
            made += [*requests, self._wrong(self.rng.choice(requests))]
        trees = [expand(*self._question()) for _ in range(6)]
        made += [*trees, self._wrong(self.rng.choice(trees))]
        made += [self._read() for _ in range(5)]
        self.rng.shuffle(made)
        return made

    def changing(self):
        """Requests that may change what is stored, with reads of all of it between."""
        made = []
        for _ in range(5):
            made.append(self._write())
        made.append(delete(self._filter(), self._preconditions()))
        return made + [read({"resource_type": otype}) for otype in self.world.schema]
