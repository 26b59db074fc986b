-- The part of the graph that one request can touch. core/datastore/postgres/fetch_plan.h says what states, probes and
-- seeds are: they are the compiled schema, as far as the request needs it.
--
-- The recursion carries rows, not objects, so that each is read once. UNION drops what is known, so circles end; and each
-- round looks at an object once, however many rows lead there. Each look is one range of one index: LATERAL with OFFSET 0
-- keeps the planner from joining with whole tables.
-- Comparisons of pairs leave it one index only: where all names are known, two would do, of which one reads all members of
-- a group to find one, and what it takes for cheaper changes with each ANALYZE.
--
-- Those in SQL become part of the statements that call them; those in PL/pgSQL keep their plans from call to call. All are
-- STABLE, so they read at the calling statement's snapshot.

-- From resources to subjects, as far as there are rows: for few of them. Ids are ASCII without control characters.
CREATE OR REPLACE FUNCTION {schema}._walk(seeds {schema}._seed[], probes {schema}._probe[], most integer)
RETURNS SETOF {schema}._found LANGUAGE sql STABLE AS $$
    WITH RECURSIVE walk(n, k, i, s, o, caveat, context, expires_at, expires_ns) AS (
        SELECT -1, x.k, x.i, x.s, ''::text COLLATE "C", NULL::text COLLATE "C", NULL::text, NULL::timestamptz,
               NULL::smallint FROM unnest(seeds) x
      UNION
        SELECT p.n, p.nk, e.si, w.s, e.ri, e.caveat, e.context, e.expires_at, e.expires_ns
            FROM (SELECT DISTINCT k, i, s FROM walk WHERE k <> 0) w JOIN unnest(probes) p ON p.k = w.k
            CROSS JOIN LATERAL (
                SELECT r.ri, r.si, r.caveat, r.context::text AS context, r.expires_at, r.expires_ns FROM {schema}.rel r
                WHERE r.rt = p.rt AND r.ri = w.i AND r.rr = p.rr AND r.sr = p.sr
                  AND (r.st, r.si) >= (p.st, CASE p.m WHEN 0 THEN '' WHEN 1 THEN w.s ELSE '*' END)
                  AND (r.st, r.si) <= (p.st, CASE p.m WHEN 0 THEN E'\x7f' WHEN 1 THEN w.s ELSE '*' END)
                  AND r.deleted_xid = '9223372036854775807' OFFSET 0) e)
    SELECT n, o, i, caveat, context, expires_at, expires_ns FROM walk WHERE n >= 0 LIMIT most
$$;

-- The same as far as `rounds` relationships lead. A row beside the others, of the number -2, counts the rounds in k, as long
-- as there is anything to look at.
CREATE OR REPLACE FUNCTION {schema}._walk_within(seeds {schema}._seed[], probes {schema}._probe[], rounds integer,
                                                 most integer)
RETURNS SETOF {schema}._found LANGUAGE sql STABLE AS $$
    WITH RECURSIVE walk(n, k, i, s, o, caveat, context, expires_at, expires_ns) AS (
        (SELECT -2, rounds, ''::text COLLATE "C", ''::text COLLATE "C", ''::text COLLATE "C", NULL::text COLLATE "C",
                NULL::text, NULL::timestamptz, NULL::smallint
      UNION ALL
         SELECT -1, x.k, x.i, x.s, '', NULL, NULL, NULL, NULL FROM unnest(seeds) x)
      UNION
        SELECT e.n, e.k, e.si, w.s, e.ri, e.caveat, e.context, e.expires_at, e.expires_ns
            FROM (SELECT DISTINCT n = -2 AS counts, k, i, s, bool_or(n = -2) OVER () AS goes_on, count(*) OVER () AS size
                      FROM walk WHERE k <> 0) w
            CROSS JOIN LATERAL (
                SELECT -2 AS n, w.k - 1 AS k, '' AS ri, '' AS si, NULL::text AS caveat, NULL::text AS context,
                       NULL::timestamptz AS expires_at, NULL::smallint AS expires_ns WHERE w.counts AND w.size > 1
              UNION ALL
                SELECT p.n, p.nk, r.* FROM unnest(probes) p CROSS JOIN LATERAL (
                    SELECT r.ri, r.si, r.caveat, r.context::text AS context, r.expires_at, r.expires_ns
                        FROM {schema}.rel r
                    WHERE r.rt = p.rt AND r.ri = w.i AND r.rr = p.rr AND r.sr = p.sr
                      AND (r.st, r.si) >= (p.st, CASE p.m WHEN 0 THEN '' WHEN 1 THEN w.s ELSE '*' END)
                      AND (r.st, r.si) <= (p.st, CASE p.m WHEN 0 THEN E'\x7f' WHEN 1 THEN w.s ELSE '*' END)
                      AND r.deleted_xid = '9223372036854775807' OFFSET 0) r
                WHERE p.k = w.k AND NOT w.counts) e
            WHERE w.goes_on)
    SELECT n, o, i, caveat, context, expires_at, expires_ns FROM walk WHERE n >= 0 LIMIT most
$$;

-- From subjects to resources. ends: probes whose rows lead to nothing more. They are most of all rows, and are looked at
-- last, when they need not go through the recursion.
CREATE OR REPLACE FUNCTION {schema}._return(seeds {schema}._seed[], probes {schema}._probe[], ends {schema}._probe[],
                                            most integer)
RETURNS SETOF {schema}._found LANGUAGE sql STABLE AS $$
    WITH RECURSIVE walk(n, k, i, o, caveat, context, expires_at, expires_ns) AS (
        SELECT -1, x.k, x.i, ''::text COLLATE "C", NULL::text COLLATE "C", NULL::text, NULL::timestamptz,
               NULL::smallint FROM unnest(seeds) x
      UNION
        SELECT p.n, p.nk, e.ri, e.si, e.caveat, e.context, e.expires_at, e.expires_ns
            FROM (SELECT DISTINCT k, i FROM walk) w JOIN unnest(probes) p ON p.k = w.k
            CROSS JOIN LATERAL (
                SELECT r.ri, r.si, r.caveat, r.context::text AS context, r.expires_at, r.expires_ns FROM {schema}.rel r
                WHERE r.st = p.st AND r.si = w.i AND r.sr = p.sr
                  AND (r.rt, r.rr) >= (p.rt, p.rr) AND (r.rt, r.rr) <= (p.rt, p.rr)
                  AND r.deleted_xid = '9223372036854775807' OFFSET 0) e),
    reached AS MATERIALIZED (SELECT * FROM walk LIMIT most)
    SELECT n, i, o, caveat, context, expires_at, expires_ns FROM reached WHERE n >= 0
  UNION ALL
    (SELECT p.n, e.ri, e.si, e.caveat, e.context, e.expires_at, e.expires_ns
        FROM (SELECT DISTINCT k, i FROM reached) w JOIN unnest(ends) p ON p.k = w.k
        CROSS JOIN LATERAL (
            SELECT r.ri, r.si, r.caveat, r.context::text AS context, r.expires_at, r.expires_ns FROM {schema}.rel r
            WHERE r.st = p.st AND r.si = w.i AND r.sr = p.sr
              AND (r.rt, r.rr) >= (p.rt, p.rr) AND (r.rt, r.rr) <= (p.rt, p.rr)
              AND r.deleted_xid = '9223372036854775807' OFFSET 0) e LIMIT most)
$$;

-- The same at a snapshot of the past: versions that it saw, of those that still live, and of those that don't.
CREATE OR REPLACE FUNCTION {schema}._walk_at(seeds {schema}._seed[], probes {schema}._probe[], rounds integer,
                                             most integer, past pg_snapshot)
RETURNS SETOF {schema}._found LANGUAGE sql STABLE AS $$
    WITH RECURSIVE walk(n, k, i, s, o, caveat, context, expires_at, expires_ns) AS (
        (SELECT -2, rounds, ''::text COLLATE "C", ''::text COLLATE "C", ''::text COLLATE "C", NULL::text COLLATE "C",
                NULL::text, NULL::timestamptz, NULL::smallint
      UNION ALL
         SELECT -1, x.k, x.i, x.s, '', NULL, NULL, NULL, NULL FROM unnest(seeds) x)
      UNION
        SELECT e.n, e.k, e.si, w.s, e.ri, e.caveat, e.context, e.expires_at, e.expires_ns
            FROM (SELECT DISTINCT n = -2 AS counts, k, i, s, bool_or(n = -2) OVER () AS goes_on, count(*) OVER () AS size
                      FROM walk WHERE k <> 0) w
            CROSS JOIN LATERAL (
                SELECT -2 AS n, w.k - 1 AS k, '' AS ri, '' AS si, NULL::text AS caveat, NULL::text AS context,
                       NULL::timestamptz AS expires_at, NULL::smallint AS expires_ns WHERE w.counts AND w.size > 1
              UNION ALL
                SELECT p.n, p.nk, r.* FROM unnest(probes) p CROSS JOIN LATERAL (
                    SELECT r.ri, r.si, r.caveat, r.context::text AS context, r.expires_at, r.expires_ns
                        FROM {schema}.rel r
                    WHERE r.rt = p.rt AND r.ri = w.i AND r.rr = p.rr AND r.sr = p.sr
                      AND (r.st, r.si) >= (p.st, CASE p.m WHEN 0 THEN '' WHEN 1 THEN w.s ELSE '*' END)
                      AND (r.st, r.si) <= (p.st, CASE p.m WHEN 0 THEN E'\x7f' WHEN 1 THEN w.s ELSE '*' END)
                      AND r.deleted_xid = '9223372036854775807' AND pg_visible_in_snapshot(r.created_xid, past)
                  UNION ALL
                    SELECT r.ri, r.si, r.caveat, r.context::text AS context, r.expires_at, r.expires_ns
                        FROM {schema}.rel r
                    WHERE r.rt = p.rt AND r.ri = w.i AND r.rr = p.rr AND r.sr = p.sr
                      AND (r.st, r.si) >= (p.st, CASE p.m WHEN 0 THEN '' WHEN 1 THEN w.s ELSE '*' END)
                      AND (r.st, r.si) <= (p.st, CASE p.m WHEN 0 THEN E'\x7f' WHEN 1 THEN w.s ELSE '*' END)
                      AND r.deleted_xid < '9223372036854775807' AND pg_visible_in_snapshot(r.created_xid, past)
                      AND NOT pg_visible_in_snapshot(r.deleted_xid, past) OFFSET 0) r
                WHERE p.k = w.k AND NOT w.counts) e
            WHERE w.goes_on)
    SELECT n, o, i, caveat, context, expires_at, expires_ns FROM walk WHERE n >= 0 LIMIT most
$$;

CREATE OR REPLACE FUNCTION {schema}._return_at(seeds {schema}._seed[], probes {schema}._probe[], ends {schema}._probe[],
                                               most integer, past pg_snapshot)
RETURNS SETOF {schema}._found LANGUAGE sql STABLE AS $$
    WITH RECURSIVE walk(n, k, i, o, caveat, context, expires_at, expires_ns) AS (
        SELECT -1, x.k, x.i, ''::text COLLATE "C", NULL::text COLLATE "C", NULL::text, NULL::timestamptz,
               NULL::smallint FROM unnest(seeds) x
      UNION
        SELECT p.n, p.nk, e.ri, e.si, e.caveat, e.context, e.expires_at, e.expires_ns
            FROM (SELECT DISTINCT k, i FROM walk) w JOIN unnest(probes || ends) p ON p.k = w.k
            CROSS JOIN LATERAL (
                SELECT r.ri, r.si, r.caveat, r.context::text AS context, r.expires_at, r.expires_ns FROM {schema}.rel r
                WHERE r.st = p.st AND r.si = w.i AND r.sr = p.sr
                  AND (r.rt, r.rr) >= (p.rt, p.rr) AND (r.rt, r.rr) <= (p.rt, p.rr)
                  AND r.deleted_xid = '9223372036854775807' AND pg_visible_in_snapshot(r.created_xid, past)
              UNION ALL
                SELECT r.ri, r.si, r.caveat, r.context::text AS context, r.expires_at, r.expires_ns FROM {schema}.rel r
                WHERE r.st = p.st AND r.si = w.i AND r.sr = p.sr
                  AND (r.rt, r.rr) >= (p.rt, p.rr) AND (r.rt, r.rr) <= (p.rt, p.rr)
                  AND r.deleted_xid < '9223372036854775807' AND pg_visible_in_snapshot(r.created_xid, past)
                  AND NOT pg_visible_in_snapshot(r.deleted_xid, past) OFFSET 0) e)
    SELECT n, i, o, caveat, context, expires_at, expires_ns FROM walk WHERE n >= 0 LIMIT most
$$;

-- For _rounds: rows that a span has found on objects, where they are of both its probes or some have attributes.
-- Lists of good ids are of one length; of others what is left over is a row without resources, which is none.
CREATE OR REPLACE FUNCTION {schema}._sort_out(span {schema}._span, keys text[], resources text, subjects text, kinds text,
                                              most integer)
RETURNS {schema}._found[] LANGUAGE plpgsql STABLE AS $$
DECLARE
    found {schema}._found[];
BEGIN
    found := ARRAY(
        SELECT ROW (CASE u.kind WHEN '1' THEN span.n ELSE span.n2 END, string_agg(u.ri, ','), string_agg(u.si, ','),
                    NULL, NULL, NULL, 0)::{schema}._found
            FROM unnest(string_to_array(resources, ','), string_to_array(subjects, ','), string_to_array(kinds, NULL))
                 u(ri, si, kind)
            WHERE coalesce(u.kind, '2') IN ('1', '2') GROUP BY u.kind);
    IF strpos(kinds, '0') > 0 THEN
        found := found || ARRAY(
            SELECT ROW (CASE WHEN r.is_first THEN span.n ELSE span.n2 END, r.ri, r.si, r.caveat, r.context, r.expires_at,
                        r.expires_ns)::{schema}._found FROM (
                SELECT r.* FROM (SELECT DISTINCT x FROM unnest(keys) x) key(i) CROSS JOIN LATERAL (
                    SELECT r.ri, r.si, r.caveat, r.context::text AS context, r.expires_at, r.expires_ns,
                           r.rr = span.rr AND r.st = span.st AND r.sr = span.sr AS is_first FROM {schema}.rel r
                    WHERE r.rt = span.rt AND r.ri = key.i
                      AND (r.rr, r.st) >= (span.rr, span.st) AND (r.rr, r.st) <= (span.rr2, span.st2)
                      AND (r.rr = span.rr AND r.st = span.st AND r.sr = span.sr
                           OR r.rr = span.rr2 AND r.st = span.st2 AND r.sr = span.sr2)
                      AND (r.caveat IS NOT NULL OR r.expires_at IS NOT NULL)
                      AND r.deleted_xid = '9223372036854775807' OFFSET 0) r LIMIT most) r);
    END IF;
    RETURN found;
END $$;

-- As _walk, where there are many objects, and as far as `rounds` relationships lead.
--
-- Ids are in lists, with commas between them: at first and from round to round those of objects in the state beside them;
-- of a row that is told, unless it has attributes, ri and si are lists of one length. No good id has a comma in it, and a
-- bad one makes the two differ in length.
-- A round looks at all objects of a state by one statement for each span: a round of the recursive queries costs more than
-- its rows do. Not by "= ANY": of tables without statistics the planner takes that for dearer than to read all objects of
-- the type. is_asked: looks for the subject too.
CREATE OR REPLACE FUNCTION {schema}._rounds(states integer[], ids text[], subject text, is_asked boolean,
                                            spans {schema}._span[], rounds integer, most integer)
RETURNS {schema}._found[] LANGUAGE plpgsql STABLE AS $$
DECLARE
    found     {schema}._found[];
    mixed     {schema}._found[];
    span      {schema}._span;
    keys      text[];
    resources text;
    subjects  text;
    others    text; -- subjects of the second probe of a span
    kinds     text; -- of rows: 1 and 2 of the first and the second probe, 0 with attributes
    led_to    integer[];
    led_ids   text[];
    seen      integer[];
    seen_ids  text[];
    size      bigint := 0;
BEGIN
    FOR round IN 1..rounds LOOP
        -- Circles and what is reached on several ways are few, as a rule, and leaving them out is dear.
        IF round > 8 THEN
            SELECT array_agg(x.k), array_agg(x.i) INTO states, ids FROM (
                SELECT u.k, string_agg(u.i, ',') AS i FROM (
                    SELECT w.k, x.i FROM unnest(states, ids) w(k, i), unnest(string_to_array(w.i, ',')) x(i)
                  EXCEPT
                    SELECT w.k, x.i FROM unnest(seen, seen_ids) w(k, i), unnest(string_to_array(w.i, ',')) x(i)) u
                GROUP BY u.k) x;
        END IF;
        EXIT WHEN states IS NULL OR size >= most;
        seen := seen || states;
        seen_ids := seen_ids || ids;
        IF cardinality(states) > 1 THEN
            SELECT array_agg(x.k), array_agg(x.i) INTO states, ids FROM (
                SELECT w.k, string_agg(w.i, ',') AS i FROM unnest(states, ids) w(k, i) GROUP BY w.k) x;
        END IF;
        IF is_asked THEN
            found := found || ARRAY(
                SELECT ROW (p.n, r.ri, r.si, r.caveat, r.context, r.expires_at, r.expires_ns)::{schema}._found
                    FROM unnest(states, ids) w(k, i) JOIN unnest(spans) p ON p.k = w.k AND p.m <> 0
                    CROSS JOIN LATERAL (SELECT DISTINCT x FROM unnest(string_to_array(w.i, ',')) x) key(i)
                    CROSS JOIN LATERAL (
                        SELECT r.ri, r.si, r.caveat, r.context::text AS context, r.expires_at, r.expires_ns
                            FROM {schema}.rel r
                        WHERE r.rt = p.rt AND r.ri = key.i AND r.rr = p.rr AND r.sr = p.sr
                          AND (r.st, r.si) >= (p.st, CASE p.m WHEN 1 THEN subject ELSE '*' END)
                          AND (r.st, r.si) <= (p.st, CASE p.m WHEN 1 THEN subject ELSE '*' END)
                          AND r.deleted_xid = '9223372036854775807' OFFSET 0) r);
        END IF;
        led_to := NULL;
        led_ids := NULL;
        FOR at IN 1..cardinality(states) LOOP
            keys := string_to_array(ids[at], ',');
            FOREACH span IN ARRAY spans LOOP
                CONTINUE WHEN span.k <> states[at] OR span.m <> 0;
                SELECT string_agg(r.ri, ','), string_agg(r.si, ','), string_agg(r.kind, '')
                    INTO resources, subjects, kinds FROM (
                        SELECT r.* FROM (SELECT DISTINCT x FROM unnest(keys) x) key(i) CROSS JOIN LATERAL (
                            SELECT r.ri, r.si,
                                   CASE WHEN r.caveat IS NOT NULL OR r.expires_at IS NOT NULL THEN '0'
                                        WHEN r.rr = span.rr AND r.sr = span.sr AND r.st = span.st THEN '1'
                                        ELSE '2' END AS kind FROM {schema}.rel r
                            WHERE r.rt = span.rt AND r.ri = key.i
                              AND (r.rr, r.st) >= (span.rr, span.st) AND (r.rr, r.st) <= (span.rr2, span.st2)
                              -- Rows of no probe don't count: what is cut off at `most` has to be seen to be.
                              AND (r.rr = span.rr AND r.st = span.st AND r.sr = span.sr
                                   OR r.rr = span.rr2 AND r.st = span.st2 AND r.sr = span.sr2)
                              AND r.deleted_xid = '9223372036854775807' OFFSET 0) r LIMIT most) r;
                CONTINUE WHEN kinds IS NULL;
                size := size + length(kinds);
                others := NULL;
                IF ltrim(kinds, '1') = '' THEN
                    found := found || ROW (span.n, resources, subjects, NULL, NULL, NULL, 0)::{schema}._found;
                ELSIF ltrim(kinds, '2') = '' THEN
                    found := found || ROW (span.n2, resources, subjects, NULL, NULL, NULL, 0)::{schema}._found;
                    others := subjects;
                    subjects := NULL;
                ELSE
                    mixed := {schema}._sort_out(span, keys, resources, subjects, kinds, most);
                    found := found || mixed;
                    SELECT string_agg(x.si, ',') FILTER (WHERE x.n = span.n),
                           string_agg(x.si, ',') FILTER (WHERE x.n <> span.n) INTO subjects, others FROM unnest(mixed) x;
                END IF;
                IF span.nk <> 0 AND subjects IS NOT NULL THEN
                    led_to := led_to || span.nk;
                    led_ids := led_ids || subjects;
                END IF;
                IF span.nk2 <> 0 AND others IS NOT NULL THEN
                    led_to := led_to || span.nk2;
                    led_ids := led_ids || others;
                END IF;
            END LOOP;
        END LOOP;
        states := led_to;
        ids := led_ids;
    END LOOP;
    RETURN found;
END $$;

-- From many, about one subject: it is looked for from its own side, where its rows are few, and then only what leads on
-- is looked for on the objects. asked: for all its rows. deciding: their numbers, of those that do.
CREATE OR REPLACE FUNCTION {schema}._fetch_bulk(states integer[], ids text[], subject text, asked {schema}._probe[],
                                                deciding integer[], spans {schema}._span[], few integer, rounds integer,
                                                most integer)
RETURNS {schema}._found[] LANGUAGE plpgsql STABLE AS $$
DECLARE
    found  {schema}._found[];
    is_few boolean;
BEGIN
    found := ARRAY(
        SELECT ROW (p.n, r.ri, r.si, r.caveat, r.context, r.expires_at, r.expires_ns)::{schema}._found
            FROM unnest(asked) p CROSS JOIN LATERAL (
                SELECT r.ri, r.si, r.caveat, r.context::text AS context, r.expires_at, r.expires_ns FROM {schema}.rel r
                WHERE r.st = p.st AND r.si = CASE p.m WHEN 1 THEN subject ELSE '*' END AND r.sr = p.sr
                  AND (r.rt, r.rr) >= (p.rt, p.rr) AND (r.rt, r.rr) <= (p.rt, p.rr)
                  AND r.deleted_xid = '9223372036854775807' OFFSET 0) r
            LIMIT few + 1);
    is_few := cardinality(found) <= few;
    -- To leave out what is decided costs as much as to look at an eighth of all.
    IF is_few AND cardinality(found) * 8 >= cardinality(string_to_array(array_to_string(ids, ','), ',')) THEN
        SELECT array_agg(x.k), array_agg(x.i) INTO states, ids FROM (
            SELECT u.k, string_agg(u.i, ',') AS i FROM (
                SELECT w.k, x.i COLLATE "C" FROM unnest(states, ids) w(k, i)
                    CROSS JOIN LATERAL unnest(string_to_array(w.i, ',')) x(i)
              EXCEPT
                SELECT p.k, f.ri FROM unnest(found) f JOIN unnest(asked) p USING (n)
                    WHERE p.n = ANY (deciding) AND f.caveat IS NULL AND f.expires_at IS NULL) u(k, i)
            GROUP BY u.k) x;
    END IF;
    RETURN found || {schema}._rounds(states, ids, subject, NOT is_few, spans, rounds, most);
END $$;

-- From one seed, unless a row of one of these probes decides at once. The others come as a text, which is only read if
-- it is needed. Where there are many rows, or a long way, in rounds.
CREATE OR REPLACE FUNCTION {schema}._fetch_check(state integer, id text, subject text, deciding {schema}._probe[],
                                                 probes text, spans text, rounds integer, most integer)
RETURNS SETOF {schema}._found LANGUAGE plpgsql STABLE AS $$
DECLARE
    hit  {schema}._found;
    many integer := least(most, 1000);
    size integer;
BEGIN
    SELECT p.n, r.ri, r.si, NULL, NULL, NULL, 0 INTO hit
        FROM unnest(deciding) p CROSS JOIN LATERAL (
            SELECT r.ri, r.si FROM {schema}.rel r
            WHERE r.rt = p.rt AND r.ri = id AND r.rr = p.rr AND r.st = p.st AND r.sr = p.sr
              AND r.si = CASE p.m WHEN 1 THEN subject ELSE '*' END AND r.deleted_xid = '9223372036854775807'
              AND r.caveat IS NULL AND r.expires_at IS NULL OFFSET 0) r
        LIMIT 1;
    IF FOUND THEN
        RETURN NEXT hit;
    ELSE
        RETURN QUERY SELECT * FROM {schema}._walk(ARRAY[ROW (state, id, subject)::{schema}._seed],
                                                  probes::{schema}._probe[], many);
        GET DIAGNOSTICS size = ROW_COUNT;
        IF size = many THEN
            RETURN QUERY SELECT * FROM unnest({schema}._rounds(ARRAY[state], ARRAY[id], subject, true,
                                                               spans::{schema}._span[], rounds, most));
        END IF;
    END IF;
END $$;

-- Backward, and from what was reached forward: crossings say from which state in which.
CREATE OR REPLACE FUNCTION {schema}._fetch_confirmed(starts {schema}._seed[], back {schema}._probe[], ends {schema}._probe[],
                                                     crossed integer[], entered integer[], subject text,
                                                     probes {schema}._probe[], rounds integer, most integer,
                                                     past pg_snapshot)
RETURNS SETOF {schema}._found LANGUAGE plpgsql STABLE AS $$
DECLARE
    reached {schema}._found[];
    seeds   {schema}._seed[];
BEGIN
    IF past IS NULL THEN
        reached := ARRAY(SELECT x FROM {schema}._return(starts, back, ends, most) x);
    ELSE
        reached := ARRAY(SELECT x FROM {schema}._return_at(starts, back, ends, most, past) x);
    END IF;
    RETURN QUERY SELECT * FROM unnest(reached);
    seeds := ARRAY(
        SELECT DISTINCT ROW (c.entered, x.i, subject)::{schema}._seed
            FROM (SELECT b.nk, r.ri FROM unnest(reached) r JOIN unnest(back || ends) b USING (n)
                  UNION ALL SELECT y.k, y.i FROM unnest(starts) y) x(k, i)
            JOIN unnest(crossed, entered) c(crossed, entered) ON c.crossed = x.k);
    IF past IS NULL THEN
        RETURN QUERY SELECT * FROM {schema}._walk_within(seeds, probes, rounds, most);
    ELSE
        RETURN QUERY SELECT * FROM {schema}._walk_at(seeds, probes, rounds, most, past);
    END IF;
END $$;
