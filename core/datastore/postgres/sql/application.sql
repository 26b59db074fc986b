-- What applications call inside their own transactions. What they send is judged here; see judge.sql for the shapes.

-- Writes relationships, all or none, and returns the token that shows them once the transaction is committed.
--
-- {"updates": [{"operation": "create" | "touch" | "delete", "relationship": "document:a#viewer@user:b" | {...}}],
--  "preconditions": [{"must_match": {filter}} | {"must_not_match": {filter}}], "metadata": {...}}
CREATE OR REPLACE FUNCTION {schema}.write(request jsonb) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
    updates       {schema}._update[];
    preconditions jsonb;
    metadata      json;
BEGIN
    PERFORM {schema}._require_object(request, 'request', '{updates,preconditions,metadata}');
    metadata      := {schema}._metadata_of(request);
    updates       := {schema}._judged_updates(
        {schema}._list_of(request, 'updates', 1000, 'TOO_MANY_UPDATES_IN_REQUEST'));
    preconditions := {schema}._judged_preconditions(
        {schema}._list_of(request, 'preconditions', 1000, 'TOO_MANY_PRECONDITIONS_IN_REQUEST'));
    PERFORM set_config('licet.writer', '{schema}', true);
    PERFORM {schema}._lock_write(updates, preconditions);
    PERFORM {schema}._in_force();
    PERFORM {schema}._require_precondition_names(preconditions);
    PERFORM {schema}._require_allowed(updates);
    PERFORM {schema}._require(preconditions, clock_timestamp());
    PERFORM {schema}._apply(updates);
    PERFORM {schema}._record(metadata, NULL);
    PERFORM set_config('licet.writer', '', true);
    RETURN {schema}._token(pg_current_snapshot(), pg_current_xact_id());
END $$;

-- Deletes what matches, expired or not: {"filter": {...}, "preconditions": [...], "limit": n, "allow_partial": bool,
-- "metadata": {...}}. Returns {"deleted": n, "partial": bool, "token": "..."}; partial: as many as the limit, so there
-- may be more.
CREATE OR REPLACE FUNCTION {schema}.delete(request jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
DECLARE
    preconditions jsonb;
    filter        jsonb;
    metadata      json;
    most          bigint;
    deleted       bigint;
    now           timestamptz;
BEGIN
    PERFORM {schema}._require_object(request, 'request', '{filter,preconditions,limit,allow_partial,metadata}');
    metadata      := {schema}._metadata_of(request);
    preconditions := {schema}._judged_preconditions(
        {schema}._list_of(request, 'preconditions', 1000, 'TOO_MANY_PRECONDITIONS_IN_REQUEST'));
    most          := {schema}._limit_of(request);
    IF jsonb_typeof(request -> 'allow_partial') NOT IN ('boolean', 'null') THEN
        PERFORM {schema}._refuse('allow_partial: expected true or false');
    END IF;
    filter := {schema}._judged_filter(request -> 'filter', 'filter', false);
    PERFORM set_config('licet.writer', '{schema}', true);
    PERFORM {schema}._lock_write('{}', preconditions);
    PERFORM {schema}._in_force();
    PERFORM {schema}._require_filter_names(filter, 'filter', false);
    PERFORM {schema}._require_precondition_names(preconditions);
    now := clock_timestamp();
    PERFORM {schema}._require(preconditions, now);
    deleted := {schema}._erase_all(request || jsonb_build_object('filter', filter), now);
    PERFORM {schema}._record(metadata, NULL);
    PERFORM set_config('licet.writer', '', true);
    RETURN jsonb_build_object('deleted', deleted, 'partial', coalesce(deleted >= most, false),
                              'token', {schema}._token(pg_current_snapshot(), pg_current_xact_id()));
END $$;

-- Relationships as this transaction sees them, its own too, in the order of their keys: {"filter": {...}, "limit": n}.
CREATE OR REPLACE FUNCTION {schema}.read(request jsonb) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    filter jsonb;
    most   bigint;
BEGIN
    PERFORM {schema}._require_object(request, 'request', '{filter,limit}');
    filter := {schema}._judged_filter(request -> 'filter', 'filter', true);
    most   := {schema}._limit_of(request);
    PERFORM {schema}._require_filter_names(filter, 'filter', true);
    RETURN QUERY EXECUTE 'SELECT {schema}._text(r) FROM {schema}.rel r WHERE ' ||
                         {schema}._condition({schema}._filter_of(filter)) ||
                         ' AND {schema}._lives(r.expires_at, r.expires_ns, $2)'
                         ' ORDER BY r.rt, r.ri, r.rr, r.st, r.si, r.sr LIMIT $3'
                 USING {schema}._filter_of(filter), clock_timestamp(), most;
END $$;

-- The token of what this transaction sees, its own writes included.
CREATE OR REPLACE FUNCTION {schema}.token() RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN {schema}._token(pg_current_snapshot(), pg_current_xact_id_if_assigned());
END $$;
