-- Imports that are committed piece by piece. Who changes the row of one has locked it, from before the first row of the
-- piece on: of two that import under one name at once, one waits, and then finds that it is not at its turn.

-- Where the import is, which begins if there is none of that name. Waits for a piece that is under way, so that what is
-- told stays true until another piece is begun.
CREATE OR REPLACE FUNCTION {schema}._import_open(import_name text,
                                                 OUT count bigint, OUT digest bytea, OUT is_finished boolean)
RETURNS SETOF record ROWS 1 LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM set_config('licet.writer', '{schema}', true);
    WHILE is_finished IS NULL LOOP
        INSERT INTO {schema}.imports (name) VALUES (import_name) ON CONFLICT (name) DO NOTHING;
        SELECT i.count, i.digest, i.is_finished INTO count, digest, is_finished
            FROM {schema}.imports i WHERE i.name = import_name FOR UPDATE;
    END LOOP;
    PERFORM set_config('licet.writer', '', true);
    RETURN NEXT;
END $$;

-- The same of one that is there, and without waiting.
CREATE OR REPLACE FUNCTION {schema}._import_find(import_name text,
                                                 OUT count bigint, OUT digest bytea, OUT is_finished boolean)
RETURNS SETOF record ROWS 1 LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT i.count, i.digest, i.is_finished FROM {schema}.imports i WHERE i.name = import_name;
END $$;

-- Forgets how far it came; what was imported stays. false: there is none of that name.
CREATE OR REPLACE FUNCTION {schema}._import_forget(import_name text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found_one boolean;
BEGIN
    PERFORM set_config('licet.writer', '{schema}', true);
    DELETE FROM {schema}.imports WHERE name = import_name;
    found_one := FOUND;
    PERFORM set_config('licet.writer', '', true);
    RETURN found_one;
END $$;

-- Begins a piece, in its transaction and before its rows.
CREATE OR REPLACE FUNCTION {schema}._import_lock(import_name text, old_count bigint, old_digest bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM {schema}.imports i
        WHERE i.name = import_name AND i.count = old_count AND i.digest = old_digest AND NOT i.is_finished FOR UPDATE;
    IF NOT FOUND THEN
        PERFORM {schema}._fail('LZ010', 'the import is not where it was');
    END IF;
END $$;

-- Ends it: what _import() does, and the row. expected_schema is null for a piece without rows.
CREATE OR REPLACE FUNCTION {schema}._import_piece(expected_schema bigint, request_id uuid, store uuid, timeline text,
                                                  import_name text, new_count bigint, new_digest bytea, is_last boolean,
                                                  OUT snapshot pg_snapshot, OUT xid xid8, OUT schema bigint)
RETURNS SETOF record ROWS 1 LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT i.snapshot, i.xid, i.schema INTO snapshot, xid, schema
        FROM {schema}._import(coalesce(expected_schema, {schema}._in_force()), request_id, store, timeline) i;
    UPDATE {schema}.imports
        SET count = new_count, digest = new_digest, is_finished = is_last, at = clock_timestamp()
        WHERE name = import_name;
    IF NOT FOUND THEN
        PERFORM {schema}._fail('LZ010', 'the import is not where it was');
    END IF;
    RETURN NEXT;
END $$;
