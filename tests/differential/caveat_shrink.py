"""Makes a case that differs as small as it gets while it still differs."""

from caveat_expressions import Node, literals_of


def smaller_nodes(node):
    """Expressions that are one step smaller: a part gives way to one of its own parts of the same type, or to a constant."""
    for old in sorted(node.nodes(), key=lambda n: -len(str(n))):
        for new in old.nodes():
            if new is not old and new.type == old.type:
                yield node.replaced(old, new)
        for text in literals_of(old.type):
            if len(text) < len(str(old)):
                yield node.replaced(old, Node(old.type, [text]))


def smaller_values(value):
    """A list or map without one of its items, or with a smaller one."""
    if isinstance(value, list):
        for at in range(len(value)):
            yield value[:at] + value[at + 1 :]
            for item in smaller_values(value[at]):
                yield value[:at] + [item] + value[at + 1 :]
    elif isinstance(value, dict):
        for key in value:
            yield {k: v for k, v in value.items() if k != key}
            for item in smaller_values(value[key]):
                yield {**value, key: item}


def smaller(case):
    for node in smaller_nodes(case.node):
        # Of what no parameter takes any more nothing may remain: a relationship would not hold it.
        used = set(node.parameters())
        stored = {k: v for k, v in case.stored.items() if k in used}
        yield case.changed(node=node, stored=stored, requested={k: v for k, v in case.requested.items() if k in used})
    for field in ("stored", "requested"):
        for context in smaller_values(getattr(case, field)):
            yield case.changed(**{field: context})


def shrunk(case, differ, patience=300):
    """`differ` says whether a case still differs; it is asked so many times at most."""
    while True:
        for candidate in smaller(case):
            patience -= 1
            if patience < 0:
                return case
            if differ(candidate):
                case = candidate
                break
        else:
            return case
