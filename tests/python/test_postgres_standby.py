"""A standby beside the primary, for reads that may be stale (replica_uri)."""

from __future__ import annotations

import base64
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import licet
import psycopg
import pytest
from conftest import SCHEMA
from stores import PATIENCE

sys.path.insert(1, str(Path(__file__).resolve().parents[2] / "tools"))

from postgres import PrivatePostgres  # noqa: E402

# Longer than a test takes: what was seen of the primary stays good.
LONG_MS = 600_000


class Pair(NamedTuple):
    primary: PrivatePostgres
    standby: PrivatePostgres
    writer: licet.Engine

    def open(self, **options) -> licet.Engine:
        """An engine that has seen the primary and may ask the standby."""
        standby = {"replica_uri": self.standby.conninfo, "max_staleness_ms": LONG_MS, "mode": "prefetch"}
        engine = licet.open(self.primary.conninfo, **{**PATIENCE, **standby, **options})
        engine.allowed("document:none", "view", "user:ada", consistency=licet.FULL)
        return engine

    def grant(self, document: str) -> str:
        return self.writer.touch(f"document:{document}#owner@user:ada")

    @contextmanager
    def behind(self) -> Iterator[None]:
        """What is committed meanwhile does not show on the standby."""
        self.primary.caught_up(self.standby)
        self.standby.psql("SELECT pg_wal_replay_pause()")
        while self.standby.psql("SELECT pg_get_wal_replay_pause_state()") != "paused":
            time.sleep(0.01)
        try:
            yield
        finally:
            self.standby.psql("SELECT pg_wal_replay_resume()")


def start_pair() -> Iterator[Pair]:
    with PrivatePostgres() as primary:
        licet.migrate(primary.conninfo)
        with primary.standby() as standby, licet.open(primary.conninfo, **PATIENCE) as writer:
            writer.write_schema(SCHEMA)
            yield Pair(primary, standby, writer)


@pytest.fixture(scope="module")
def shared(request: pytest.FixtureRequest) -> Iterator[Pair]:
    if not os.environ.get("LICET_TEST_POSTGRES"):
        pytest.skip("no Postgres; see LICET_TEST_POSTGRES")
    yield from start_pair()


@pytest.fixture
def pair(shared: Pair) -> Pair:
    """One that lives on."""
    shared.primary.caught_up(shared.standby)
    return shared


@pytest.fixture
def own_pair(postgres_uri: str) -> Iterator[Pair]:
    """One that may be broken."""
    yield from start_pair()


def sees(engine: licet.Engine, document: str, consistency=licet.MINIMIZE_LATENCY) -> bool:
    return engine.allowed(f"document:{document}", "view", "user:ada", consistency=consistency)


def comes(question: Callable[[], bool], seconds: float = 120) -> bool:
    """Does it become true? A standby that does not answer within half a second is not asked again for two: on a busy
    machine what it shows may take more than one question."""
    end = time.monotonic() + seconds
    while not question():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def snapshot_of(token: str) -> str:
    """The text in a token (core/datastore/postgres/token.h)."""
    return base64.urlsafe_b64decode(token)[23:-16].decode().rstrip()


# -------------------------------------------------------------------- which is asked


def test_what_may_be_stale_is_read_from_the_standby_and_what_may_not_from_the_primary(pair):
    with pair.open() as engine, pair.behind():
        token = pair.grant("a1")
        assert comes(lambda: not sees(engine, "a1"))
        assert sees(engine, "a1", licet.at_least(token))
        assert sees(engine, "a1", licet.FULL)


def test_what_was_seen_of_the_primary_is_not_unseen(pair):
    with pair.open() as engine, pair.behind():
        engine.touch("document:b1#owner@user:ada")
        assert sees(engine, "b1")
        pair.grant("b2")
        assert sees(engine, "b2", licet.FULL)
        assert sees(engine, "b2")


def test_a_token_that_the_standby_has_come_up_to_is_read_there(pair):
    token = pair.grant("c1")
    with pair.open() as engine:
        with pair.behind():
            pair.writer.delete("document:c1#owner@user:ada")
            assert comes(lambda: sees(engine, "c1", licet.at_least(token)))
            assert not sees(engine, "c1", licet.FULL)
            assert comes(lambda: sees(engine, "c1", licet.at_least(token)))


def test_an_exact_token_is_read_from_the_primary(pair):
    with pair.open() as engine, pair.behind():
        token = pair.grant("d1")
        pair.writer.delete("document:d1#owner@user:ada")
        assert sees(engine, "d1", licet.at_exactly(token))


def test_lookups_and_bulk_checks_are_read_from_the_standby_too(pair):
    with pair.open() as engine:
        pair.grant("e1")
        with pair.behind():
            pair.writer.delete("document:e1#owner@user:ada")
            assert comes(
                lambda: "e1" in {f.resource_id for f in engine.lookup_resources("document", "view", "user:ada")}
            )
            assert "e1" not in {
                f.resource_id for f in engine.lookup_resources("document", "view", "user:ada", consistency=licet.FULL)
            }


def test_an_engine_that_has_not_heard_of_the_primary_for_long_asks_it(pair):
    with pair.open(max_staleness_ms=300) as engine, pair.behind():
        pair.grant("f1")
        assert comes(lambda: sees(engine, "f1"))


def test_a_store_that_follows_has_no_use_for_a_standby(pair):
    with pair.open(mode="follow") as engine:
        assert sees(engine, "g1") is False
        count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'licet'"
        assert pair.standby.psql(count) == "0"


# -------------------------------------------------------------------- what it shows


def test_what_a_standby_shows_has_a_token_that_names_exactly_that(pair):
    with pair.open() as engine:
        pair.grant("h1")
        with pair.behind():
            pair.writer.delete("document:h1#owner@user:ada")
            assert comes(lambda: sees(engine, "h1"))
            result = engine.check("document:h1", "view", "user:ada")
            assert result.allowed
            assert snapshot_of(result.token).endswith(":0:")
        assert sees(pair.writer, "h1", licet.at_exactly(result.token))
        assert not sees(pair.writer, "h1", licet.FULL)


def test_what_may_still_run_on_the_standby_is_not_shown_nor_what_is_newer(pair):
    with psycopg.connect(pair.primary.conninfo) as slow:
        with pair.open() as engine:
            slow.execute("SELECT pg_current_xact_id()")
            pair.grant("i1")
            pair.primary.caught_up(pair.standby)
            assert comes(lambda: not sees(engine, "i1"))
            result = engine.check("document:i1", "view", "user:ada")
            assert not result.allowed
            assert snapshot_of(result.token).endswith(":0:")
            assert sees(engine, "i1", licet.FULL)
            assert sees(engine, "i1")
        slow.rollback()


def test_round_trips_to_the_standby_are_counted(pair):
    with pair.open() as engine:
        before = engine.stats().round_trips
        for _ in range(3):
            sees(engine, "j1")
        direct = engine.stats().round_trips - before
        assert direct >= 6


def test_a_child_of_a_fork_asks_the_standby_by_itself(pair):
    with pair.open() as engine:
        sees(engine, "k1")
        with pair.behind():
            pair.grant("k1")
            child = os.fork()
            if child == 0:
                try:
                    os._exit(0 if comes(lambda: not sees(engine, "k1")) and sees(engine, "k1", licet.FULL) else 1)
                finally:
                    os._exit(2)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert comes(lambda: not sees(engine, "k1"))


# -------------------------------------------------------------------- which are not used


def test_a_standby_that_was_promoted_is_not_asked_any_more(own_pair):
    pair = own_pair
    with pair.open() as engine:
        sees(engine, "a")
        pair.standby.promote()
        with licet.open(pair.standby.conninfo, **PATIENCE) as other:
            other.touch("document:a#owner@user:ada")
        assert not sees(engine, "a")
        pair.grant("b")
        assert sees(engine, "b")


def test_a_standby_in_the_primarys_place_answers_nothing_until_it_is_promoted(own_pair):
    token = own_pair.grant("a")
    own_pair.primary.caught_up(own_pair.standby)
    with licet.open(own_pair.standby.conninfo, mode="prefetch", **PATIENCE) as engine:
        for consistency in (licet.MINIMIZE_LATENCY, licet.FULL, licet.at_least(token)):
            with pytest.raises(licet.Unavailable, match="standby"):
                sees(engine, "a", consistency)
        own_pair.standby.promote()
        assert sees(engine, "a", licet.FULL)
        with pytest.raises(licet.InvalidToken, match="timeline"):
            sees(engine, "a", licet.at_least(token))


@pytest.mark.parametrize("mode", ["prefetch", "follow"])
def test_a_token_of_the_server_that_took_over_is_understood_by_who_has_not_met_it(own_pair, mode):
    old = own_pair.grant("a")
    hosts = [own_pair.primary, own_pair.standby]
    uri = own_pair.primary.conninfo.replace(f"host={hosts[0].host}", "host=" + ",".join(s.host for s in hosts))
    uri = uri.replace(f"port={hosts[0].port}", "port=" + ",".join(str(s.port) for s in hosts))
    own_pair.primary.caught_up(own_pair.standby)
    with licet.open(uri, mode=mode, **PATIENCE) as engine:
        assert sees(engine, "a", licet.at_least(old))
        own_pair.primary.kill()
        own_pair.standby.promote()
        with licet.open(own_pair.standby.conninfo, **PATIENCE) as other:
            new = other.touch("document:b#owner@user:ada")
        try:
            assert engine.allowed("document:b", "view", "user:ada", consistency=licet.at_least(new), may_block=False)
        except licet.Unavailable as error:
            assert error.reason == "WOULD_BLOCK"
        assert sees(engine, "b", licet.at_least(new))
        assert sees(engine, "b", licet.at_exactly(new))
        with pytest.raises(licet.InvalidToken, match="timeline"):
            sees(engine, "a", licet.at_least(old))


def test_a_standby_that_is_gone_or_silent_costs_little(own_pair):
    pair = own_pair
    with pair.open() as engine:
        sees(engine, "a")
        token = pair.grant("a")
        for number, end in enumerate((pair.standby.pause, pair.standby.kill)):
            end()
            began = time.monotonic()
            for _ in range(100):
                assert sees(engine, "a", licet.at_least(token))
            assert time.monotonic() - began < 25, number  # half a second for each would be twice that


def test_a_standby_of_another_database_is_not_asked(pair, own_pair):
    for other in (own_pair.standby, own_pair.primary):
        with licet.open(own_pair.primary.conninfo, **PATIENCE) as engine:
            engine.touch("document:l1#owner@user:ada")
        own_pair.primary.caught_up(own_pair.standby)
        with pair.open(replica_uri=other.conninfo) as engine:
            assert [sees(engine, "l1") for _ in range(3)] == [False] * 3
            assert sees(engine, "h1", licet.at_least(pair.grant("h1")))
            pair.writer.delete("document:h1#owner@user:ada")


@pytest.mark.parametrize(
    ("replica", "words"),
    [
        ("host=db colour=red password=hunter2", '"colour"'),
        ("postgresql://ada:hunter2@db/?sslmode=x", ": sslmode has none"),
        ("host=db port=hunter2", ": port is not"),
        ("hunter2", "neither a URI"),
    ],
)
def test_a_bad_connection_string_is_refused_and_nothing_of_it_told(pair, replica, words):
    with pytest.raises(licet.InvalidArgument) as caught:
        licet.open(pair.primary.conninfo, replica_uri=replica)
    assert str(caught.value).startswith("replica_uri: ")
    assert words in str(caught.value)
    assert "hunter2" not in str(caught.value)
