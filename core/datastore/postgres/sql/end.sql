-- Nobody but the owner, until somebody is granted more.
DO $$
DECLARE
    function regprocedure;
BEGIN
    FOR function IN SELECT p.oid FROM pg_proc p
                        WHERE p.pronamespace = '"{schema}"'::regnamespace AND
                              (starts_with(p.proname, '_') OR p.proname IN ('write', 'delete', 'read', 'token')) LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', function);
    END LOOP;
END $$;
UPDATE {schema}.meta SET version = {version};
ANALYZE {schema}.meta; -- else its one row is taken for thousands
COMMIT;
