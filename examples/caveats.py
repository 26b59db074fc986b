"""Caveats: access that depends on what is known when the question is asked; and access that ends by itself."""

from datetime import datetime, timedelta, timezone
from ipaddress import ip_address

import licet
from licet.testing import ManualClock

SCHEMA = """
use expiration

definition user {}

caveat from_office(address ipaddress, network string) {
    address.in_cidr(network)
}

definition document {
    relation reader: user with from_office | user with expiration
    permission read = reader
}
"""

clock = ManualClock(datetime(2030, 1, 1, 9, tzinfo=timezone.utc))  # leave it out, and the system's clock counts

with licet.open(strict=True, clock=clock) as engine:
    engine.write_schema(SCHEMA)
    engine.touch(
        licet.Relationship(
            *("document", "plan", "reader", "user", "ada"),
            caveat_name="from_office",
            caveat_context={"network": "10.0.0.0/8"},
        ),
        licet.Relationship(*("document", "plan", "reader", "user", "bo"), expiration=clock.now + timedelta(hours=1)),
    )

    question = ("document:plan", "read", "user:ada")
    print("in the office: ", engine.allowed(*question, context={"address": ip_address("10.1.2.3")}))
    print("somewhere else:", engine.allowed(*question, context={"address": ip_address("192.0.2.1")}))

    result = engine.check(*question)
    print("who knows:     ", result.allowed, result.permissionship.name, "missing", ", ".join(result.missing_context))

    for stored in engine.read_relationships(resource_type="document"):
        print(stored)

    print("bo, at nine:   ", engine.allowed("document:plan", "read", "user:bo"))
    clock.advance(timedelta(hours=1))
    print("bo, at ten:    ", engine.allowed("document:plan", "read", "user:bo"))
