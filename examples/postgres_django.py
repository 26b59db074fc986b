"""Relationships that are written inside transaction.atomic(), with Django."""

import json
import os

import django
import licet
from django.conf import settings
from psycopg.conninfo import conninfo_to_dict

DATABASE = os.environ["DATABASE_URL"]

# What a project has in its settings.
known = conninfo_to_dict(DATABASE)
settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": known["dbname"],
            "USER": known["user"],
            "HOST": known["host"],
            "PORT": known["port"],
        }
    },
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
)
django.setup()

from django.db import connection, models, transaction  # noqa: E402

SCHEMA = """
definition user {}

definition document {
    relation owner: user
    permission edit = owner
}
"""


class Document(models.Model):
    title = models.TextField()

    class Meta:
        app_label = "example"


def write(*updates):
    """Changes relationships in the transaction that is under way. Returns the token that shows them afterwards."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT licet.write(%s)", [json.dumps({"updates": updates})])
        return cursor.fetchone()[0]


def create(title, owner):
    document = Document.objects.create(title=title)
    relationship = f"document:{document.pk}#owner@user:{owner}"
    return document, write({"operation": "touch", "relationship": relationship})


def may_edit(document, user, consistency):
    return permissions.allowed(f"document:{document.pk}", "edit", f"user:{user}", consistency=consistency)


licet.migrate(DATABASE)
with connection.schema_editor() as editor:
    editor.create_model(Document)

with licet.open(DATABASE) as permissions:
    permissions.write_schema(SCHEMA)

    with transaction.atomic():
        plan, token = create("The plan", "ada")
    print("committed:", may_edit(plan, "ada", licet.at_least(token)))

    try:
        with transaction.atomic():
            memo, _ = create("Never mind", "ada")
            raise RuntimeError("something went wrong")
    except RuntimeError:
        print("rolled back:", may_edit(memo, "ada", licet.FULL))

    with transaction.atomic():
        song, _ = create("La la la", "bo")
        try:
            with transaction.atomic():  # a savepoint
                note, _ = create("A note", "bo")
                raise RuntimeError("only this part")
        except RuntimeError:
            pass
    print("the song:", may_edit(song, "bo", licet.FULL), "the note:", may_edit(note, "bo", licet.FULL))
    print("documents:", [document.title for document in Document.objects.order_by("pk")])
