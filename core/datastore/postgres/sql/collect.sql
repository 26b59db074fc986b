-- Garbage collection: one small batch of what no snapshot within the window can need.
--
-- The horizon is the oldest transaction that still ran when a write of more than a window ago was recorded. What was
-- ended by a transaction before it is seen as ended by every snapshot taken since. It moves in the transaction that
-- deletes, and who reads an old snapshot reads it in the same statement.
--
-- Rows that have been expired for longer than the window are first ended, like any other, and deleted a window later.
-- Imports that were finished are known for a window.
CREATE OR REPLACE FUNCTION {schema}._collect("window" interval, batch integer,
                                             OUT removed bigint, OUT expired bigint, OUT horizon xid8,
                                             OUT is_done boolean)
RETURNS SETOF record ROWS 1 LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off AS $$
DECLARE
    expired_before CONSTANT timestamptz := clock_timestamp() - "window";
    forgotten bigint;
BEGIN
    IF "window" < interval '0' OR batch < 1 THEN
        PERFORM {schema}._fail('LZ004', 'a window and a batch are at least 0 and 1');
    END IF;
    removed := 0;
    expired := 0;
    is_done := true;
    IF NOT pg_try_advisory_xact_lock('{schema}.rel'::regclass::oid::integer, 65) THEN -- another one is at it
        horizon := (SELECT m.gc_horizon FROM {schema}.meta m);
        RETURN NEXT;
        RETURN;
    END IF;
    PERFORM set_config('licet.writer', '{schema}', true);
    expired := {schema}._end_expired(expired_before, batch);
    SELECT greatest(m.gc_horizon, (SELECT pg_snapshot_xmin(t.snapshot) FROM {schema}.tx t WHERE t.at < expired_before
                                       ORDER BY t.at DESC LIMIT 1)) INTO horizon FROM {schema}.meta m;
    removed   := {schema}._forget_rows(horizon, batch);
    forgotten := {schema}._forget_transactions(horizon, batch);
    DELETE FROM {schema}.imports i WHERE i.is_finished AND i.at < expired_before;
    is_done   := expired < batch AND removed < batch AND forgotten < batch;
    IF removed > 0 OR forgotten > 0 THEN
        UPDATE {schema}.meta SET gc_horizon = horizon WHERE gc_horizon < horizon;
    END IF;
    PERFORM set_config('licet.writer', '', true);
    RETURN NEXT;
END $$;

-- Rows that somebody is changing are left alone: whoever it is, they will be gone or new.
CREATE OR REPLACE FUNCTION {schema}._end_expired(expired_before timestamptz, batch integer) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    ended tid[] := ARRAY(SELECT r.ctid FROM {schema}.rel r
                             WHERE r.deleted_xid = '9223372036854775807' AND r.expires_at IS NOT NULL AND
                                   r.expires_at < expired_before AND r.created_xid <> pg_current_xact_id()
                             ORDER BY r.expires_at LIMIT batch FOR UPDATE SKIP LOCKED);
BEGIN
    IF cardinality(ended) > 0 THEN
        UPDATE {schema}.rel SET deleted_xid = pg_current_xact_id() WHERE ctid = ANY (ended);
        INSERT INTO {schema}.tx (collects) VALUES (true) ON CONFLICT (xid) DO NOTHING;
    END IF;
    RETURN cardinality(ended);
END $$;

CREATE OR REPLACE FUNCTION {schema}._forget_rows(horizon xid8, batch integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    removed bigint;
BEGIN
    DELETE FROM {schema}.rel WHERE ctid = ANY (ARRAY(
        SELECT r.ctid FROM {schema}.rel r
            WHERE r.deleted_xid < horizon AND r.deleted_xid < '9223372036854775807'
            ORDER BY r.deleted_xid LIMIT batch FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END $$;

-- Transactions before the horizon, and schemas that were replaced before it: not the one in force. However short the
-- window, an engine may still ask how a write of its own ended: for twice as long as a write may take (licet.h,
-- write_timeout_ms), since a write that is taken for one that was not done is done again.
CREATE OR REPLACE FUNCTION {schema}._forget_transactions(horizon xid8, batch integer) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    schemas bigint;
    removed bigint;
BEGIN
    DELETE FROM {schema}.zed z WHERE z.replaced_xid < horizon;
    GET DIAGNOSTICS schemas = ROW_COUNT;
    DELETE FROM {schema}.tx WHERE xid = ANY (ARRAY(
        SELECT t.xid FROM {schema}.tx t
            WHERE t.xid < horizon AND (t.request IS NULL OR t.at < clock_timestamp() - interval '20 minutes')
            ORDER BY t.xid LIMIT batch FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN schemas + removed;
END $$;
