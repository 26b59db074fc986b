"""Relationships that are written in the session of the application, with SQLAlchemy."""

import json
import os

import licet
from sqlalchemy import create_engine, text
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

DATABASE = os.environ["DATABASE_URL"]

SCHEMA = """
definition user {}

definition document {
    relation owner: user
    permission edit = owner
}
"""


class Base(DeclarativeBase):
    pass


class Document(Base):
    __tablename__ = "document"

    id: Mapped[str] = mapped_column(primary_key=True)
    title: Mapped[str]


def write(session, *updates):
    """Changes relationships in the session's transaction. Returns the token that shows them once it is committed."""
    # Postgres would not find write(varchar): SQLAlchemy says of every str that it is one.
    return session.scalar(
        text("SELECT licet.write(CAST(:request AS jsonb))"), {"request": json.dumps({"updates": updates})}
    )


def touch(relationship):
    return {"operation": "touch", "relationship": relationship}


licet.migrate(DATABASE)
database = create_engine(DATABASE.replace("postgresql:", "postgresql+psycopg:", 1))
Base.metadata.create_all(database)

with licet.open(DATABASE) as permissions:
    permissions.write_schema(SCHEMA)

    with Session(database) as session, session.begin():
        session.add(Document(id="plan", title="The plan"))
        token = write(session, touch("document:plan#owner@user:ada"))
    print("committed:", permissions.allowed("document:plan", "edit", "user:ada", consistency=licet.at_least(token)))

    with Session(database) as session:
        session.add(Document(id="memo", title="Never mind"))
        write(session, touch("document:memo#owner@user:ada"))
        session.rollback()
    print("rolled back:", permissions.allowed("document:memo", "edit", "user:ada", consistency=licet.FULL))

    with Session(database) as session:
        print("documents:", [document.id for document in session.query(Document)])

database.dispose()
