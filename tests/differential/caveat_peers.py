"""licet and SpiceDB behind the same three questions: write relationships with contexts, check with contexts, say how it ends."""

import json

import licet
import spicedb
from caveat_expressions import PARAMETERS

ALLOWED, DENIED, CONDITIONAL, ERROR = KINDS = "allowed", "denied", "conditional", "error"
WRITTEN, REFUSED = "written", "write refused"


class Answer:
    """How a write or an evaluation ended. `reason`: which kind of error; `detail`: its words, which are not compared."""

    def __init__(self, kind, missing=(), reason="", detail=""):
        self.kind, self.missing, self.reason, self.detail = kind, frozenset(missing), reason, detail

    def same(self, other):
        return (self.kind, self.missing, self.reason) == (other.kind, other.missing, other.reason)

    def __str__(self):
        if self.kind == CONDITIONAL:
            return "conditional, missing " + ", ".join(sorted(self.missing))
        return " ".join(filter(None, (self.kind, self.reason, self.detail)))


def caveat_text(name, node):
    parameters = ", ".join("%s %s" % (name, PARAMETERS[name]) for name in node.parameters())
    return "caveat %s(%s) {\n  %s\n}" % (name, parameters, node)


def schema_text(nodes):
    """One caveat for each expression, and one relation that allows all of them."""
    names = ["caveat%d" % number for number in range(len(nodes))]
    texts = [caveat_text(name, node) for name, node in zip(names, nodes)]
    texts.append("definition user {}")
    texts.append("definition doc {\n  relation viewer: %s\n}" % " | ".join("user with " + name for name in names))
    return "\n\n".join(texts) + "\n"


class Licet:
    """Every relationship has a subject of its own: SpiceDB checks together what shares subject and context, and an error of
    one is then the answer to all (api.md 4.11)."""

    def __init__(self, nodes):
        self.engine = licet.open()
        self.engine.write_schema(schema_text(nodes))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.engine.close()

    def write(self, rows):
        """The answer for each (number of the caveat, context)."""
        answers = []
        for place, (number, stored) in enumerate(rows):
            context = ":" + json.dumps(stored) if stored else ""
            try:
                self.engine.touch("doc:d%d#viewer@user:u%d[caveat%d%s]" % (place, place, number, context))
                answers.append(Answer(WRITTEN))
            except licet.Error as error:
                answers.append(Answer(REFUSED, detail=str(error)))
        return answers

    def check(self, items):
        """The answer for each (place of the row, context)."""
        results = self.engine.check_bulk(
            [("doc:d%d" % place, "viewer", "user:u%d" % place, json.dumps(requested)) for place, requested in items]
        )
        return [self.answer(result) for result in results]

    @staticmethod
    def answer(result):
        if result.error is not None:
            return Answer(ERROR, (), result.error.reason or result.error.code, str(result.error))
        kind = (DENIED, ALLOWED, CONDITIONAL)[result.permissionship]
        return Answer(kind, result.missing_context)


class Compiler(spicedb.Peer):
    """A SpiceDB that is asked about schemas only."""

    EMPTY = "definition user {}"

    def __init__(self):
        super().__init__(self.EMPTY)

    def refusal(self, schema):
        """None, or why the schema is refused. It is taken back: a caveat can not get other parameters."""
        refusal = self.accepts(schema)
        if refusal is None:
            self.accepts(self.EMPTY)
        return refusal


class SpiceDB(spicedb.Peer):
    def __init__(self, nodes):
        super().__init__(schema_text(nodes))

    def write(self, rows):
        """As Licet.write(). SpiceDB refuses all updates of a request for one, so each is a request of its own."""
        return [self.write_one(place, number, stored) for place, (number, stored) in enumerate(rows)]

    def write_one(self, place, number, stored):
        relationship = spicedb.relationship_of(("doc", "d%d" % place, "viewer", "user", "u%d" % place, None))
        relationship.optional_caveat.caveat_name = "caveat%d" % number
        relationship.optional_caveat.context.update(stored)
        try:
            self.touch([relationship])
        except spicedb.SpiceDBError as error:
            return Answer(REFUSED, detail=str(error))
        return Answer(WRITTEN)

    def check(self, items):
        pairs = self.ask([self.item(place, requested) for place, requested in items])
        return [self.answer(pair) for pair in pairs]

    @staticmethod
    def item(place, requested):
        item = spicedb.item_of(("doc", "d%d" % place, "viewer"), ("user", "u%d" % place, None))
        item.context.update(requested)
        return item

    @staticmethod
    def answer(pair):
        if pair.HasField("error"):
            return Answer(ERROR, (), spicedb.reason_of(pair.error), pair.error.message)
        kind = {1: DENIED, 2: ALLOWED, 3: CONDITIONAL}[pair.item.permissionship]
        return Answer(kind, pair.item.partial_caveat_info.missing_required_context)
