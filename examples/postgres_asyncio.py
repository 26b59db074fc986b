"""Checks in an event loop, which must not wait: from memory where that can be, else in a thread."""

import asyncio
import os

import licet

DATABASE = os.environ["DATABASE_URL"]

SCHEMA = """
definition user {}

definition document {
    relation owner: user
    permission edit = owner
}
"""


async def allowed(engine, *question, consistency=licet.MINIMIZE_LATENCY):
    """What engine.allowed() says, without keeping the loop from anything else."""
    try:
        return engine.allowed(*question, consistency=consistency, may_block=False)
    except licet.Unavailable as error:
        if error.reason != "WOULD_BLOCK":
            raise
    return await asyncio.to_thread(engine.allowed, *question, consistency=consistency)


async def main():
    with licet.open(DATABASE) as engine:
        await asyncio.to_thread(engine.await_ready)
        await asyncio.to_thread(engine.write_schema, SCHEMA)
        token = await asyncio.to_thread(engine.touch, "document:plan#owner@user:ada")
        question = ("document:plan", "edit", "user:ada")
        print("from memory:", await allowed(engine, *question, consistency=licet.at_least(token)))
        print("after a round trip:", await allowed(engine, *question, consistency=licet.FULL))


licet.migrate(DATABASE)
asyncio.run(main())
