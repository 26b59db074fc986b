-- Brings schema {schema} to version {version} of licet's tables and functions.
BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL search_path = pg_catalog, pg_temp; -- whoever runs this, no function of others is taken for one of Postgres
SET LOCAL licet.writer = '{schema}';

-- One migration at a time, each step once. What runs with its owner's rights must not share a schema with what anybody
-- puts there.
DO $$
DECLARE
    found integer := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('licet migrates {schema}', 0));
    IF to_regclass('{schema}.meta') IS NOT NULL THEN
        EXECUTE 'SELECT version FROM {schema}.meta' INTO found;
    END IF;
    IF found <> {version} - 1 THEN
        RAISE EXCEPTION 'schema {schema} is of version %, and this is the step to version {version}', found
            USING ERRCODE = 'LZ009', DETAIL = found;
    END IF;
    IF to_regnamespace('"{schema}"') IS NOT NULL AND has_schema_privilege('public', '{schema}', 'CREATE') THEN
        RAISE EXCEPTION 'anybody may create things in schema {schema}: choose another'
            USING ERRCODE = 'LZ004', DETAIL = '';
    END IF;
END $$;
