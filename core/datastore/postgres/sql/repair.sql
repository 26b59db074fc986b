-- For a database that was dumped and restored into another cluster: there the stamps name transactions that haven't
-- been, so that living relationships seem not created and dead ones not deleted. What lives is stamped anew, what is
-- dead goes, and with it history: the store is another one from now on, old tokens are refused, engines load anew.
CREATE OR REPLACE FUNCTION {schema}._repair(OUT living bigint, OUT removed bigint)
RETURNS SETOF record ROWS 1 LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    me xid8 := pg_current_xact_id();
BEGIN
    IF {schema}._is_fixed() THEN
        PERFORM {schema}._fail('25001', 'a repair needs a transaction that is READ COMMITTED');
    END IF;
    PERFORM {schema}._lock(0, true);
    PERFORM set_config('licet.writer', '{schema}', true);
    DELETE FROM {schema}.rel WHERE deleted_xid <> '9223372036854775807';
    GET DIAGNOSTICS removed = ROW_COUNT;
    UPDATE {schema}.rel SET created_xid = me;
    GET DIAGNOSTICS living = ROW_COUNT;
    DELETE FROM {schema}.zed WHERE version < (SELECT max(z.version) FROM {schema}.zed z);
    UPDATE {schema}.zed SET created_xid = me, replaced_xid = '9223372036854775807';
    DELETE FROM {schema}.tx;
    INSERT INTO {schema}.tx DEFAULT VALUES;
    UPDATE {schema}.meta SET store = DEFAULT, token_key = DEFAULT, gc_horizon = me;
    PERFORM set_config('licet.writer', '', true);
    RETURN NEXT;
END $$;
