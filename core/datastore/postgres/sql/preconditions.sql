-- Filters as conditions, and preconditions.

-- The condition of a filter on rel r. In it $1 is the filter, $2 the time; nothing of the filter becomes text.
CREATE OR REPLACE FUNCTION {schema}._condition(f {schema}._filter) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT 'r.deleted_xid = ''9223372036854775807'''
        || CASE WHEN f.resource_type      IS NULL THEN '' ELSE ' AND r.rt = ($1).resource_type' END
        || CASE WHEN f.resource_id        IS NULL THEN '' ELSE ' AND r.ri = ($1).resource_id' END
        || CASE WHEN f.resource_id_prefix IS NULL THEN '' ELSE
               ' AND r.ri >= ($1).resource_id_prefix AND r.ri < {schema}._behind(($1).resource_id_prefix)' END
        || CASE WHEN f.relation           IS NULL THEN '' ELSE ' AND r.rr = ($1).relation' END
        || CASE WHEN f.subject_type       IS NULL THEN '' ELSE ' AND r.st = ($1).subject_type' END
        || CASE WHEN f.subject_id         IS NULL THEN '' ELSE ' AND r.si = ($1).subject_id' END
        || CASE WHEN f.subject_relation   IS NULL THEN ''
                WHEN f.subject_relation   = ''    THEN ' AND r.sr = ''...'''
                ELSE ' AND r.sr = ($1).subject_relation' END
$$;

-- Expired means expires_at <= now; the rest below a microsecond counts.
CREATE OR REPLACE FUNCTION {schema}._lives(expires_at timestamptz, expires_ns smallint, now timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT expires_at IS NULL OR (expires_at, expires_ns) > (now, 0)
$$;

-- The first text behind all that begin with the prefix: ids are ASCII, none of whose characters is the last.
CREATE OR REPLACE FUNCTION {schema}._behind(prefix text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT left(prefix, -1) || chr(ascii(right(prefix, 1)) + 1)
$$;

CREATE OR REPLACE FUNCTION {schema}._filter_of(filter jsonb) RETURNS {schema}._filter LANGUAGE sql STABLE AS $$
    SELECT jsonb_populate_record(NULL::{schema}._filter, filter)
$$;

-- Is there a relationship that matches and has not expired? One is locked, so that it stays until we commit.
--
-- While we waited for a row that somebody changed, another may have come that our statement doesn't show: found nothing
-- means nothing only if a look without waiting agrees.
CREATE OR REPLACE FUNCTION {schema}._hold_match(f {schema}._filter, now timestamptz) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    held boolean;
BEGIN
    FOR round IN 1 .. 100 LOOP
        IF f.resource_type IS NOT NULL AND f.resource_id IS NOT NULL AND f.relation IS NOT NULL AND
           f.subject_type IS NOT NULL AND f.subject_id IS NOT NULL AND f.subject_relation IS NOT NULL THEN
            SELECT true INTO held FROM {schema}.rel r
                WHERE r.rt = f.resource_type AND r.ri = f.resource_id AND r.rr = f.relation AND
                      r.st = f.subject_type AND r.si = f.subject_id AND
                      r.sr = coalesce(nullif(f.subject_relation, ''), '...') AND
                      r.deleted_xid = '9223372036854775807' AND {schema}._lives(r.expires_at, r.expires_ns, now)
                FOR SHARE;
        ELSE
            EXECUTE 'SELECT true FROM {schema}.rel r WHERE ' || {schema}._condition(f) ||
                    ' AND {schema}._lives(r.expires_at, r.expires_ns, $2) LIMIT 1 FOR SHARE' INTO held USING f, now;
        END IF;
        IF held THEN
            RETURN true;
        END IF;
        IF NOT {schema}._matches(f, now) THEN
            PERFORM {schema}._require_current();
            RETURN false;
        END IF;
    END LOOP;
    PERFORM {schema}._fail('40001', 'could not serialize access: a precondition is being changed all the time');
END $$;

CREATE OR REPLACE FUNCTION {schema}._matches(f {schema}._filter, now timestamptz) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    found boolean;
BEGIN
    EXECUTE 'SELECT true FROM {schema}.rel r WHERE ' || {schema}._condition(f) ||
            ' AND {schema}._lives(r.expires_at, r.expires_ns, $2) LIMIT 1' INTO found USING f, now;
    RETURN found IS NOT NULL;
END $$;

-- The locks of a write, weakest first. A "must not match" relies on rows that don't exist and can't be locked, so it
-- keeps those from coming who could create them: of one resource if it names one, else everybody.
CREATE OR REPLACE FUNCTION {schema}._lock_write(updates {schema}._update[], preconditions jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    is_wide boolean;
    absent  integer[];
    wanted  record;
BEGIN
    IF preconditions <> '[]' THEN
        SELECT bool_or(absence AND (rt IS NULL OR ri IS NULL)),
               array_agg({schema}._bucket(rt, ri)) FILTER (WHERE absence)
            INTO is_wide, absent
            FROM (SELECT p ? 'must_not_match' AS absence, p -> 'must_not_match' ->> 'resource_type' AS rt,
                         p -> 'must_not_match' ->> 'resource_id' AS ri FROM jsonb_array_elements(preconditions) p) q;
    END IF;
    PERFORM {schema}._lock(0, coalesce(is_wide, false));
    IF is_wide THEN
        RETURN;
    END IF;
    FOR wanted IN
        SELECT number, bool_or(alone) AS alone
            FROM (SELECT unnest(absent) AS number, true AS alone
                  UNION ALL
                  SELECT {schema}._bucket(u.rt, u.ri), false FROM unnest(updates) u WHERE u.operation <> 'delete') b
            GROUP BY number ORDER BY number
    LOOP
        PERFORM {schema}._lock(wanted.number, wanted.alone);
    END LOOP;
END $$;

-- In order, against the state before the write. DETAIL: number and kind of the one that doesn't hold.
CREATE OR REPLACE FUNCTION {schema}._require(preconditions jsonb, now timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    p jsonb;
    n integer := 0;
BEGIN
    IF preconditions = '[]' THEN
        RETURN;
    END IF;
    FOR p IN SELECT jsonb_array_elements(preconditions) LOOP
        n := n + 1;
        IF p ? 'must_match' THEN
            IF NOT {schema}._hold_match({schema}._filter_of(p -> 'must_match'), now) THEN
                PERFORM {schema}._fail('LZ002', 'precondition ' || n || ' does not hold: nothing matches',
                                       n || ' must_match');
            END IF;
        ELSE
            PERFORM {schema}._require_current();
            IF {schema}._matches({schema}._filter_of(p -> 'must_not_match'), now) THEN
                PERFORM {schema}._fail('LZ002', 'precondition ' || n || ' does not hold: something matches',
                                       n || ' must_not_match');
            END IF;
        END IF;
    END LOOP;
END $$;
