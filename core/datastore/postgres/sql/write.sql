-- Writing relationships.

-- Updates as the engine sends them, judged already; in the order of their keys, in which everybody locks.
CREATE OR REPLACE FUNCTION {schema}._updates(items jsonb) RETURNS {schema}._update[] LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT coalesce(array_agg(ROW(i.n, i.item ->> 'operation', r.resource_type, r.resource_id, r.relation,
                                  r.subject_type, r.subject_id, coalesce(r.subject_relation, '...'), r.caveat_name,
                                  {schema}._json(r.caveat_context), {schema}._microseconds(r.expiration),
                                  {schema}._nanoseconds(r.expiration))::{schema}._update
                              ORDER BY r.resource_type COLLATE "C", r.resource_id COLLATE "C", r.relation COLLATE "C",
                                       r.subject_type COLLATE "C", r.subject_id COLLATE "C",
                                       coalesce(r.subject_relation, '...') COLLATE "C"), '{}')
        FROM jsonb_array_elements(items) WITH ORDINALITY AS i (item, n),
             jsonb_to_record(i.item -> 'relationship') AS r
                 (resource_type text, resource_id text, relation text, subject_type text, subject_id text,
                  subject_relation text, caveat_name text, caveat_context jsonb, expiration text));
END $$;

-- Makes every update true, in rounds. A round locks the living rows of its keys, ends those that have to go, and
-- inserts. What somebody else committed while we waited is shown to the next statement only, so what a round could not
-- settle (a row came into the way of an insert, or took the place of one that we waited for to delete) is left to the
-- next.
--
-- A row that this transaction has made itself is deleted for good: no row is made and ended by one transaction.
CREATE OR REPLACE FUNCTION {schema}._apply(updates {schema}._update[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    me       xid8                := pg_current_xact_id();
    pending  {schema}._update[] := updates;
    deletes  integer; -- of the pending
    deleted  integer; -- rows that they met
    existing integer; -- the first CREATE whose relationship is there
    kept     integer[]; -- the TOUCHes that change nothing
    ended    tid[];
    erased   tid[];
    missing  integer; -- rows that could not be inserted
BEGIN
    FOR round IN 1 .. 100 LOOP
        SELECT count(*) FILTER (WHERE l.operation = 'delete'), min(l.n) FILTER (WHERE l.operation = 'create'),
               coalesce(array_agg(l.n) FILTER (WHERE NOT l.goes), '{}'),
               array_agg(l.tid) FILTER (WHERE l.goes AND l.created_xid <> me),
               array_agg(l.tid) FILTER (WHERE l.goes AND l.created_xid = me)
            INTO deleted, existing, kept, ended, erased
            FROM (SELECT u.n, u.operation, r.tid, r.created_xid,
                         u.operation = 'delete' OR
                         (u.caveat, u.expires_at, u.expires_ns) IS DISTINCT FROM
                         (r.caveat, r.expires_at, r.expires_ns) OR
                         NOT {schema}._same_json(u.context, r.context) AS goes
                      FROM unnest(pending) u CROSS JOIN LATERAL
                           (SELECT r.ctid AS tid, r.created_xid, r.caveat, r.context, r.expires_at, r.expires_ns
                                FROM {schema}.rel r
                                WHERE r.rt = u.rt AND r.ri = u.ri AND r.rr = u.rr AND r.st = u.st AND r.si = u.si AND
                                      r.sr = u.sr AND r.deleted_xid = '9223372036854775807'
                                FOR UPDATE) r) l;
        IF existing IS NOT NULL THEN
            PERFORM {schema}._fail_existing(updates, existing);
        END IF;
        IF ended IS NOT NULL THEN
            UPDATE {schema}.rel SET deleted_xid = me WHERE ctid = ANY (ended);
        END IF;
        IF erased IS NOT NULL THEN
            DELETE FROM {schema}.rel WHERE ctid = ANY (erased);
        END IF;
        deletes := (SELECT count(*) FROM unnest(pending) u WHERE u.operation = 'delete');
        missing := cardinality(pending) - deletes - cardinality(kept);
        IF missing > 0 THEN
            missing := missing - {schema}._insert(pending, kept);
        END IF;
        IF deletes = deleted AND missing = 0 THEN
            RETURN;
        END IF;
        IF deletes > deleted THEN
            PERFORM {schema}._require_current();
        END IF;
        pending := {schema}._unsettled(pending, kept);
        IF cardinality(pending) = 0 THEN
            RETURN;
        END IF;
    END LOOP;
    PERFORM {schema}._fail('40001', 'could not serialize access: a relationship is being changed all the time');
END $$;

CREATE OR REPLACE FUNCTION {schema}._insert(pending {schema}._update[], kept integer[]) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    inserted integer;
BEGIN
    INSERT INTO {schema}.rel (rt, ri, rr, st, si, sr, caveat, context, expires_at, expires_ns)
        SELECT u.rt, u.ri, u.rr, u.st, u.si, u.sr, u.caveat, u.context, u.expires_at, u.expires_ns
            FROM unnest(pending) u WHERE u.operation <> 'delete' AND u.n <> ALL (kept)
        ON CONFLICT (rt, ri, rr, st, si, sr) WHERE deleted_xid = '9223372036854775807' DO NOTHING;
    GET DIAGNOSTICS inserted = ROW_COUNT;
    RETURN inserted;
END $$;

-- DELETEs of what lives after all, and inserts that met a row. Our own living row is the one just inserted: any
-- that was there before has been locked, and kept or deleted.
CREATE OR REPLACE FUNCTION {schema}._unsettled(pending {schema}._update[], kept integer[]) RETURNS {schema}._update[]
LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT coalesce(array_agg(u ORDER BY u.rt, u.ri, u.rr, u.st, u.si, u.sr), '{}')
        FROM unnest(pending) u LEFT JOIN LATERAL
             (SELECT r.created_xid FROM {schema}.rel r
                  WHERE r.rt = u.rt AND r.ri = u.ri AND r.rr = u.rr AND r.st = u.st AND r.si = u.si AND r.sr = u.sr AND
                        r.deleted_xid = '9223372036854775807' OFFSET 0) r ON true
        WHERE CASE WHEN u.operation = 'delete' THEN r.created_xid IS NOT NULL
                   ELSE u.n <> ALL (kept) AND r.created_xid IS DISTINCT FROM pg_current_xact_id() END);
END $$;

CREATE OR REPLACE FUNCTION {schema}._fail_existing(updates {schema}._update[], number integer) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    relationship text;
BEGIN
    SELECT {schema}._key(u) INTO relationship FROM unnest(updates) u WHERE u.n = number;
    PERFORM {schema}._fail('LZ001', 'update ' || number || ': relationship ' || {schema}._quoted(relationship) ||
                                    ' exists already', relationship);
END $$;

-- For the engine, which has judged the request by the schema of version expected_schema. The snapshot is taken last, so
-- it shows whatever our changes met; our own xid isn't in it.
CREATE OR REPLACE FUNCTION {schema}._write(request jsonb, expected_schema bigint, request_id uuid,
                                           store uuid DEFAULT NULL, timeline text DEFAULT NULL,
                                           OUT snapshot pg_snapshot, OUT xid xid8, OUT schema bigint)
RETURNS SETOF record ROWS 1 LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
    updates       {schema}._update[] := {schema}._updates(coalesce(request -> 'updates', '[]'));
    preconditions jsonb               := coalesce(request -> 'preconditions', '[]');
BEGIN
    PERFORM set_config('licet.writer', '{schema}', true);
    PERFORM {schema}._lock_write(updates, preconditions);
    schema := {schema}._expect_schema(expected_schema, store, timeline);
    PERFORM {schema}._require(preconditions, clock_timestamp());
    PERFORM {schema}._apply(updates);
    PERFORM {schema}._record({schema}._json(request -> 'metadata'), request_id);
    PERFORM set_config('licet.writer', '', true);
    xid      := pg_current_xact_id();
    snapshot := pg_current_snapshot();
    RETURN NEXT;
END $$;

-- For a COPY into rel in its transaction: what a write does, but for the rows. The guard is open from here to its end.
-- Called when the rows are there, it also tells the planner of them, if they are many: until autovacuum came, queries
-- would read by the wrong index. Where somebody analyses or vacuums already, it is left to them.
CREATE OR REPLACE FUNCTION {schema}._import(expected_schema bigint, request_id uuid,
                                            store uuid DEFAULT NULL, timeline text DEFAULT NULL,
                                            OUT snapshot pg_snapshot, OUT xid xid8, OUT schema bigint)
RETURNS SETOF record ROWS 1 LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    pages bigint := pg_relation_size('{schema}.rel') / current_setting('block_size')::bigint;
BEGIN
    PERFORM set_config('licet.writer', '{schema}', true);
    FOR number IN 0 .. 64 LOOP
        PERFORM {schema}._lock(number, false);
    END LOOP;
    schema := {schema}._expect_schema(expected_schema, store, timeline);
    PERFORM {schema}._record(NULL, request_id);
    IF EXISTS (SELECT FROM pg_class c WHERE c.oid = '{schema}.rel'::regclass AND pages > 2 * greatest(c.relpages, 8)) THEN
        ANALYZE (SKIP_LOCKED) {schema}.rel;
    END IF;
    xid      := pg_current_xact_id();
    snapshot := pg_current_snapshot();
    RETURN NEXT;
END $$;
