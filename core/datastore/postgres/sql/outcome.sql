-- What became of a write whose connection broke before the answer.

-- Asking decides it: the request's number is taken, so that a write which has not come so far fails when it does. While
-- the write's transaction is still running, this waits for it (the unique index does). A row that was made here counts
-- as a collection: it is no revision of its own, and asking again finds the same answer.
--
-- xid and snapshot are null when the write did not take place and never will. deleted: rows that its transaction ended.
CREATE OR REPLACE FUNCTION {schema}._outcome(request_id uuid, OUT snapshot pg_snapshot, OUT xid xid8, OUT deleted bigint)
RETURNS SETOF record ROWS 1 LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM set_config('licet.writer', '{schema}', true);
    INSERT INTO {schema}.tx (request, collects) VALUES (request_id, true) ON CONFLICT (request) DO NOTHING;
    PERFORM set_config('licet.writer', '', true);
    SELECT t.snapshot, t.xid INTO snapshot, xid FROM {schema}.tx t WHERE t.request = request_id AND NOT t.collects;
    deleted := (SELECT count(*) FROM {schema}.rel r
                    WHERE r.deleted_xid = xid AND r.deleted_xid < '9223372036854775807');
    RETURN NEXT;
END $$;
