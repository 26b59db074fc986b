-- Deleting by filter.

-- Ends at most `most` rows (NULL: all) that match, expired or not, in the order of their keys. Rounds as in _apply:
-- what came while we waited is met by the next one, and a round that ended nothing may have waited for what was
-- replaced; so a look without waiting decides. living: how many of the ended had not expired.
CREATE OR REPLACE FUNCTION {schema}._erase(f {schema}._filter, most bigint, now timestamptz,
                                           OUT deleted bigint, OUT living bigint) LANGUAGE plpgsql AS $$
DECLARE
    matching  text := ' FROM {schema}.rel r WHERE ' || {schema}._condition(f);
    statement text := 'WITH gone AS MATERIALIZED ('
                      '    SELECT r.ctid AS tid, r.created_xid = $4 AS own, '
                      '           {schema}._lives(r.expires_at, r.expires_ns, $2) AS lives' || matching ||
                      '        ORDER BY r.rt, r.ri, r.rr, r.st, r.si, r.sr LIMIT $3 FOR UPDATE), '
                      'ended AS (UPDATE {schema}.rel SET deleted_xid = $4 '
                      '              FROM gone WHERE rel.ctid = gone.tid AND NOT gone.own), '
                      'erased AS (DELETE FROM {schema}.rel USING gone WHERE rel.ctid = gone.tid AND gone.own) '
                      'SELECT count(*), count(*) FILTER (WHERE lives) FROM gone';
    round_deleted bigint;
    round_living  bigint;
    is_left       boolean;
BEGIN
    deleted := 0;
    living  := 0;
    PERFORM {schema}._require_current();
    FOR round IN 1 .. 100 LOOP
        EXECUTE statement INTO round_deleted, round_living USING f, now, most - deleted, pg_current_xact_id();
        deleted := deleted + round_deleted;
        living  := living + round_living;
        IF deleted = most THEN
            RETURN;
        END IF;
        EXECUTE 'SELECT true' || matching || ' LIMIT 1' INTO is_left USING f;
        IF is_left IS NULL THEN
            RETURN;
        END IF;
    END LOOP;
    PERFORM {schema}._fail('40001', 'could not serialize access: what matches is being changed all the time');
END $$;

-- All or nothing: more than the limit that have not expired are refused. The first look spares the work; the second is
-- right when more came meanwhile.
CREATE OR REPLACE FUNCTION {schema}._erase_within(f {schema}._filter, most bigint, now timestamptz) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    living  bigint;
    deleted bigint;
BEGIN
    EXECUTE 'SELECT count(*) FROM (SELECT FROM {schema}.rel r WHERE ' || {schema}._condition(f) ||
            ' AND {schema}._lives(r.expires_at, r.expires_ns, $2) LIMIT $3) q' INTO living USING f, now, most + 1;
    IF living <= most THEN
        SELECT e.deleted, e.living INTO deleted, living FROM {schema}._erase(f, NULL, now) e;
    END IF;
    IF living > most THEN
        PERFORM {schema}._fail('LZ006', 'more than ' || most || ' relationships match', most::text);
    END IF;
    RETURN deleted;
END $$;

CREATE OR REPLACE FUNCTION {schema}._erase_all(request jsonb, now timestamptz) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    f    {schema}._filter := {schema}._filter_of(request -> 'filter');
    most bigint            := {schema}._limit_of(request);
BEGIN
    IF most IS NULL OR (request ->> 'allow_partial')::boolean THEN
        RETURN (SELECT e.deleted FROM {schema}._erase(f, most, now) e);
    END IF;
    RETURN {schema}._erase_within(f, most, now);
END $$;

-- For the engine. now: the time by which it judges what has expired; NULL: the clock's.
CREATE OR REPLACE FUNCTION {schema}._delete(request jsonb, expected_schema bigint, request_id uuid, now timestamptz,
                                            store uuid DEFAULT NULL, timeline text DEFAULT NULL,
                                            OUT snapshot pg_snapshot, OUT xid xid8, OUT schema bigint,
                                            OUT deleted bigint)
RETURNS SETOF record ROWS 1 LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
    preconditions jsonb := coalesce(request -> 'preconditions', '[]');
BEGIN
    PERFORM set_config('licet.writer', '{schema}', true);
    PERFORM {schema}._lock_write('{}', preconditions);
    schema := {schema}._expect_schema(expected_schema, store, timeline);
    now    := coalesce(now, clock_timestamp());
    PERFORM {schema}._require(preconditions, now);
    deleted := {schema}._erase_all(request, now);
    PERFORM {schema}._record({schema}._json(request -> 'metadata'), request_id);
    PERFORM set_config('licet.writer', '', true);
    xid      := pg_current_xact_id();
    snapshot := pg_current_snapshot();
    RETURN NEXT;
END $$;
