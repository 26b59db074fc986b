-- Our tables are changed by our functions only: a row that lacks its stamp would be seen by no replica. This stops
-- mistakes; who may do what is decided by grants.

CREATE OR REPLACE FUNCTION {schema}._guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%.% is not changed directly: call the functions of licet', tg_table_schema, tg_table_name
        USING ERRCODE = 'LZ008', DETAIL = tg_table_name;
END $$;

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['meta', 'rel', 'tx', 'zed', 'names', 'allowed', 'parameters', 'imports'] LOOP
        EXECUTE format('CREATE OR REPLACE TRIGGER guard BEFORE INSERT OR UPDATE OR DELETE ON {schema}.%I '
                       'FOR EACH STATEMENT WHEN (pg_catalog.current_setting(''licet.writer'', true) '
                       'IS DISTINCT FROM ''{schema}'') EXECUTE FUNCTION {schema}._guard()', name);
        EXECUTE format('CREATE OR REPLACE TRIGGER guard_truncate BEFORE TRUNCATE ON {schema}.%I '
                       'FOR EACH STATEMENT EXECUTE FUNCTION {schema}._guard()', name);
    END LOOP;
END $$;
