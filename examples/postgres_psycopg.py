"""Relationships that are written in the application's own transaction, with psycopg."""

import os

import licet
import psycopg
from psycopg.types.json import Jsonb

DATABASE = os.environ["DATABASE_URL"]

SCHEMA = """
definition user {}

definition document {
    relation owner: user
    relation reader: user
    permission edit = owner
    permission read = owner + reader
}
"""

licet.migrate(DATABASE)  # on every deployment, by one process or by several at once

with licet.open(DATABASE) as engine, psycopg.connect(DATABASE, autocommit=True) as connection:
    engine.write_schema(SCHEMA)
    connection.execute("CREATE TABLE document (id text PRIMARY KEY, title text NOT NULL)")

    def create(document, title, owner):
        """A document and its owner, in the transaction that is under way. Returns the token that shows them."""
        connection.execute("INSERT INTO document VALUES (%s, %s)", [document, title])
        update = {"operation": "touch", "relationship": f"document:{document}#owner@user:{owner}"}
        (token,) = connection.execute("SELECT licet.write(%s)", [Jsonb({"updates": [update]})]).fetchone()
        return token

    with connection.transaction():
        token = create("plan", "The plan", "ada")
    result = engine.check("document:plan", "edit", "user:ada", consistency=licet.at_least(token))
    print("committed:", result.permissionship.name)

    with connection.transaction():
        create("memo", "Never mind", "ada")
        raise psycopg.Rollback
    result = engine.check("document:memo", "edit", "user:ada", consistency=licet.FULL)
    print("rolled back:", result.permissionship.name)

    try:
        with connection.transaction():
            create("song", "La la la", "ada smith")
    except psycopg.Error as error:
        print("refused:", error.sqlstate)
    print("documents:", [row[0] for row in connection.execute("SELECT id FROM document")])
