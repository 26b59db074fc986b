#!/usr/bin/env python3
"""Makes core/datastore/postgres/sql_table.h: what migrations of the tables in Postgres run, one text for each version.

embed_sql.py            writes it
embed_sql.py --check    fails when it would change
"""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "core/datastore/postgres"

# What each version changes in the tables. A version that was released is never changed.
STEPS = [["tables.sql"], ["imports.sql"]]

# The functions of the newest version, made anew by its step: what is there already is replaced.
FUNCTIONS = [
    "base.sql",
    "token.sql",
    "guard.sql",
    "preconditions.sql",
    "write.sql",
    "import.sql",
    "delete.sql",
    "judge.sql",
    "read.sql",
    "application.sql",
    "schema.sql",
    "outcome.sql",
    "collect.sql",
    "fetch.sql",
    "repair.sql",
]


def text_of(version: int) -> str:
    """The only name left to put in is {schema}."""
    files = ["begin.sql", *STEPS[version - 1], *(FUNCTIONS if version == len(STEPS) else []), "end.sql"]
    texts = [(FOLDER / "sql" / name).read_text(encoding="ascii") for name in files]
    return "\n".join(texts).replace("{version}", str(version))


def literal(line: str) -> str:
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"').replace("??", '?""?') + '\\n"'


def header() -> str:
    lines = [
        "/* Made by tools/embed_sql.py from sql/; change those, not this. */",
        "#ifndef LIC_DATASTORE_POSTGRES_SQL_TABLE_H",
        "#define LIC_DATASTORE_POSTGRES_SQL_TABLE_H",
        "",
        "/* Of the tables and functions. */",
        f"#define LIC_PG_VERSION {len(STEPS)}",
        "",
        "/* What makes version 1 of nothing, version 2 of version 1, and so on. {schema} stands for the schema's name. */",
        "static const char *const migration_steps[LIC_PG_VERSION] = {",
    ]
    for version in range(1, len(STEPS) + 1):
        rows = [literal(line) for line in text_of(version).splitlines()]
        lines += ["    " + row for row in rows[:-1]] + [f"    {rows[-1]},"]
    return "\n".join([*lines, "};", "", "#endif", ""])


def main() -> int:
    path = FOLDER / "sql_table.h"
    new = header()
    if "--check" in sys.argv[1:]:
        return 0 if path.exists() and path.read_text(encoding="ascii") == new else 1
    path.write_text(new, encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
