-- Writing the schema. Whether it agrees with the stored relationships is the engine's to judge, between _lock_schema()
-- and _write_schema() in one transaction: nobody writes meanwhile.

CREATE OR REPLACE FUNCTION {schema}._lock_schema() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM {schema}._lock(0, true);
END $$;

CREATE OR REPLACE FUNCTION {schema}._fill_names(definitions jsonb, caveats jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM {schema}.names;
    DELETE FROM {schema}.allowed;
    DELETE FROM {schema}.parameters;
    INSERT INTO {schema}.names (definition, relation, is_permission)
        SELECT d ->> 'name', '...', false FROM jsonb_array_elements(definitions) d
        UNION ALL
        SELECT d ->> 'name', r ->> 'name', false
            FROM jsonb_array_elements(definitions) d, jsonb_array_elements(coalesce(d -> 'relations', '[]')) r
        UNION ALL
        SELECT d ->> 'name', p, true
            FROM jsonb_array_elements(definitions) d, jsonb_array_elements_text(coalesce(d -> 'permissions', '[]')) p;
    INSERT INTO {schema}.allowed (rt, rr, st, sr, wildcard, caveat, expiration)
        SELECT d ->> 'name', r ->> 'name', a ->> 'type', coalesce(a ->> 'relation', '...'),
               coalesce((a ->> 'wildcard')::boolean, false), coalesce(a ->> 'caveat', ''),
               coalesce((a ->> 'expiration')::boolean, false)
            FROM jsonb_array_elements(definitions) d, jsonb_array_elements(coalesce(d -> 'relations', '[]')) r,
                 jsonb_array_elements(coalesce(r -> 'allowed', '[]')) a
        ON CONFLICT DO NOTHING;
    INSERT INTO {schema}.parameters (caveat, name, type)
        SELECT c ->> 'name', p ->> 'name', p ->> 'type'
            FROM jsonb_array_elements(caveats) c, jsonb_array_elements(coalesce(c -> 'parameters', '[]')) p;
END $$;

-- expected_schema: the version that the engine has compared with; 0: there was none. schema: the new version.
CREATE OR REPLACE FUNCTION {schema}._write_schema(request jsonb, expected_schema bigint, request_id uuid,
                                                  store uuid DEFAULT NULL, timeline text DEFAULT NULL,
                                                  OUT snapshot pg_snapshot, OUT xid xid8, OUT schema bigint)
RETURNS SETOF record ROWS 1 LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM set_config('licet.writer', '{schema}', true);
    PERFORM {schema}._lock(0, true);
    schema := {schema}._expect_schema(expected_schema, store, timeline) + 1;
    UPDATE {schema}.zed SET replaced_xid = pg_current_xact_id() WHERE version = expected_schema;
    INSERT INTO {schema}.zed (version, text) VALUES (schema, request ->> 'text');
    PERFORM {schema}._fill_names(coalesce(request -> 'definitions', '[]'), coalesce(request -> 'caveats', '[]'));
    PERFORM {schema}._record({schema}._json(request -> 'metadata'), request_id);
    PERFORM set_config('licet.writer', '', true);
    xid      := pg_current_xact_id();
    snapshot := pg_current_snapshot();
    RETURN NEXT;
END $$;
