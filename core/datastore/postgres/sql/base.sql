-- What the other functions share. Functions whose names begin with "_" are for the engine and for each other.
--
-- Entries are SECURITY DEFINER, so that a role needs rights on functions only. That is safe because their search_path
-- is fixed, every name of ours is qualified, and no text from outside becomes part of a statement: what is run by
-- EXECUTE is put together from the constants in this folder, and values are parameters. No literal here has a
-- backslash, since a session may have standard_conforming_strings off.
--
-- What is LANGUAGE sql becomes a part of the statement that calls it, and only if it is no less volatile than said: it
-- would be planned anew with each call otherwise. Functions with queries of their own are plpgsql, which keeps plans.

-- Errors: class LZ, and in DETAIL what a program needs.
CREATE OR REPLACE FUNCTION {schema}._fail(code text, message text, detail text DEFAULT '') RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = code, MESSAGE = message, DETAIL = detail;
END $$;

-- Of any text from outside that goes into a message.
CREATE OR REPLACE FUNCTION {schema}._quoted(value text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT pg_catalog.to_json(CASE WHEN octet_length(value) > 64 THEN left(value, 48) || '...' ELSE value END)::text
$$;

CREATE OR REPLACE FUNCTION {schema}._key(u {schema}._update) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT u.rt || ':' || u.ri || '#' || u.rr || '@' || u.st || ':' || u.si ||
           CASE WHEN u.sr = '...' THEN '' ELSE '#' || u.sr END
$$;

-- Does the transaction see one snapshot only? What has been committed since is hidden from it.
CREATE OR REPLACE FUNCTION {schema}._is_fixed() RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT pg_catalog.current_setting('transaction_isolation') IN ('repeatable read', 'serializable')
$$;

-- In a transaction with a fixed snapshot: fails with 40001 if a transaction that wrote here was committed since. The
-- snapshot hides its row of tx; but the index knows it, and ON CONFLICT meets it. If that row was collected meanwhile,
-- there is a later one, by which it was.
CREATE OR REPLACE FUNCTION {schema}._require_current() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    seen      pg_snapshot := pg_current_snapshot();
    committed xid8[]      := '{}';
    candidate xid8;
BEGIN
    IF NOT {schema}._is_fixed() THEN
        RETURN;
    END IF;
    SELECT coalesce(array_agg(x), '{}') INTO committed
        FROM pg_snapshot_xip(seen) x WHERE pg_xact_status(x) = 'committed';
    BEGIN
        FOR i IN 0 .. 9999 LOOP -- ends at the first xid that was not yet handed out
            candidate := (pg_snapshot_xmax(seen)::text::numeric + i)::text::xid8;
            IF pg_xact_status(candidate) = 'committed' THEN
                committed := committed || candidate;
            END IF;
        END LOOP;
        RAISE EXCEPTION 'could not serialize access: the snapshot is too old to be compared with the present'
            USING ERRCODE = 'serialization_failure';
    EXCEPTION WHEN invalid_parameter_value THEN
        NULL;
    END;
    IF cardinality(committed) > 0 THEN
        INSERT INTO {schema}.tx (xid) SELECT unnest(committed) ON CONFLICT (xid) DO NOTHING;
        DELETE FROM {schema}.tx WHERE xid = ANY (committed);
    END IF;
END $$;

-- The store's lock is number 0 of class rel: writes share it, schema writes and wide "must not match" have it alone. 64
-- more stand for resources: who creates relationships shares those of its resources, who relies on the absence of some
-- at one resource has that alone. Always in ascending order.
CREATE OR REPLACE FUNCTION {schema}._bucket(rt text, ri text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT 1 + (hashtextextended((rt || ':' || ri) COLLATE "C", 0) & 63)::integer
$$;

CREATE OR REPLACE FUNCTION {schema}._lock(number integer, exclusive boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF exclusive THEN
        PERFORM pg_advisory_xact_lock('{schema}.rel'::regclass::oid::integer, number);
    ELSE
        PERFORM pg_advisory_xact_lock_shared('{schema}.rel'::regclass::oid::integer, number);
    END IF;
END $$;

-- Asked under the store's lock. A fixed snapshot may hide a newer schema: the lock on the row finds out (40001).
CREATE OR REPLACE FUNCTION {schema}._in_force() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    found bigint;
BEGIN
    IF NOT {schema}._is_fixed() THEN
        RETURN coalesce((SELECT z.version FROM {schema}.zed z ORDER BY z.version DESC LIMIT 1), 0);
    END IF;
    SELECT z.version INTO found FROM {schema}.zed z ORDER BY z.version DESC LIMIT 1 FOR SHARE;
    IF found IS NULL THEN
        PERFORM {schema}._require_current();
    END IF;
    RETURN coalesce(found, 0);
END $$;

-- store, timeline (as files of the log have it): of the database that the engine knows, whose versions these are; null: not
-- asked. Another one, or one that took its place, has versions of its own with the same numbers.
CREATE OR REPLACE FUNCTION {schema}._expect_schema(expected bigint, store uuid, timeline text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    found bigint := {schema}._in_force();
BEGIN
    IF store IS NOT NULL AND store IS DISTINCT FROM (SELECT m.store FROM {schema}.meta m) OR
       timeline <> left(pg_walfile_name(pg_current_wal_lsn()), 8) THEN
        PERFORM {schema}._fail('LZ003', 'the store is another one, or has another past', found::text);
    END IF;
    IF expected IS DISTINCT FROM found THEN
        PERFORM {schema}._fail('LZ003', 'another schema is in force', found::text);
    END IF;
    RETURN found;
END $$;

-- The transaction's row. A later write of it adds its metadata. What others have seen committed no crash may undo, whatever
-- the session says of it.
CREATE OR REPLACE FUNCTION {schema}._record(new_metadata json, new_request uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    INSERT INTO {schema}.tx AS t (metadata, request) VALUES (new_metadata, new_request)
        ON CONFLICT (xid) DO UPDATE
        SET metadata = CASE WHEN t.metadata IS NULL OR excluded.metadata IS NULL
                            THEN coalesce(excluded.metadata, t.metadata)
                            ELSE (t.metadata::jsonb || excluded.metadata::jsonb)::json END,
            request = coalesce(excluded.request, t.request), collects = false
        WHERE excluded.metadata IS NOT NULL OR excluded.request IS NOT NULL OR t.collects;
END $$;

-- A JSON value given as itself or as a string that holds its text.
CREATE OR REPLACE FUNCTION {schema}._json(value jsonb) RETURNS json LANGUAGE sql STABLE AS $$
    SELECT (CASE jsonb_typeof(value) WHEN 'string' THEN value #>> '{}' WHEN 'null' THEN NULL ELSE value::text END)::json
$$;

-- Equal as values. Texts differ in their spaces; some that are JSON (a NUL) can't be compared but as texts.
CREATE OR REPLACE FUNCTION {schema}._same_json(a json, b json) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN a IS NULL OR b IS NULL THEN a IS NULL AND b IS NULL
                WHEN a::text = b::text THEN true
                WHEN strpos(a::text || b::text, chr(92) || 'u0000') > 0 THEN false
                ELSE a::jsonb = b::jsonb END
$$;

-- RFC 3339 in UTC that was judged before: microseconds, and the nanoseconds below them. Cut, not rounded.
CREATE OR REPLACE FUNCTION {schema}._microseconds(instant text) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT (left(rtrim(instant, 'Z'), 26) || 'Z')::timestamptz
$$;
CREATE OR REPLACE FUNCTION {schema}._nanoseconds(instant text) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(rpad(substr(rtrim(instant, 'Z'), 27, 3), 3, '0')::smallint, 0::smallint)
$$;
