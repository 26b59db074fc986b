-- Tokens, as token.c makes and reads them: see there. Byte for byte the same, so that who writes through the functions
-- below and who asks an engine understand each other. No literal here has a backslash, since a session may have
-- standard_conforming_strings off.

-- HMAC-SHA256 (RFC 2104). key: 32 bytes; the other 32 of a block are 0 before they are combined with the pads. bytea
-- knows no exclusive or, bigint does.
CREATE OR REPLACE FUNCTION {schema}._seal(message bytea, key bytea) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT sha256(int8send(('x' || encode(substring(key FROM  1 FOR 8), 'hex'))::bit(64)::bigint # 6655295901103053916) ||
                  int8send(('x' || encode(substring(key FROM  9 FOR 8), 'hex'))::bit(64)::bigint # 6655295901103053916) ||
                  int8send(('x' || encode(substring(key FROM 17 FOR 8), 'hex'))::bit(64)::bigint # 6655295901103053916) ||
                  int8send(('x' || encode(substring(key FROM 25 FOR 8), 'hex'))::bit(64)::bigint # 6655295901103053916) ||
                  decode(repeat('5c', 32), 'hex') ||
           sha256(int8send(('x' || encode(substring(key FROM  1 FOR 8), 'hex'))::bit(64)::bigint # 3906369333256140342) ||
                  int8send(('x' || encode(substring(key FROM  9 FOR 8), 'hex'))::bit(64)::bigint # 3906369333256140342) ||
                  int8send(('x' || encode(substring(key FROM 17 FOR 8), 'hex'))::bit(64)::bigint # 3906369333256140342) ||
                  int8send(('x' || encode(substring(key FROM 25 FOR 8), 'hex'))::bit(64)::bigint # 3906369333256140342) ||
                  decode(repeat('36', 32), 'hex') ||
                  message))
$$;

-- The token of a snapshot; own: a transaction that counts as complete in it (lic_pg_snapshot_complete()), or null. Fails
-- on a standby, whose snapshots don't say what runs.
CREATE OR REPLACE FUNCTION {schema}._token(snapshot pg_snapshot, own xid8) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
    room    CONSTANT integer := 345; -- bytes for the text of the snapshot: SNAPSHOT_MAX
    parts   text[]   := string_to_array(snapshot::text, ':');
    low     bigint   := parts[1];
    high    bigint   := parts[2];
    running bigint[] := string_to_array(parts[3], ',');
    mine    bigint   := own::text;
    fits    boolean;
    text    text;
    list    text     := '';
    before  bigint;
    x       bigint;
    store   uuid;
    key     bytea;
    bytes   bytea;
BEGIN
    IF mine >= high THEN
        FOR i IN 0 .. least(mine - high, room) - 1 LOOP -- of more than that the list will not fit
            running := running || high + i;
        END LOOP;
        high := mine + 1;
    ELSIF mine IS NOT NULL THEN
        running := array_remove(running, mine);
    END IF;
    IF mine IS NOT NULL THEN
        low := coalesce(running[1], high);
    END IF;

    text := low || ':' || high - low || ':';
    fits := length(text) + 2 * cardinality(running) - 1 <= room; -- a member has a digit and a comma
    IF fits THEN
        before := low;
        FOREACH x IN ARRAY running LOOP
            list   := list || ',' || x - before;
            before := x;
        END LOOP;
        fits := length(text || list) - 1 <= room;
    END IF;
    IF fits THEN
        text := text || substr(list, 2);
    END IF;

    SELECT m.store, m.token_key INTO STRICT store, key FROM {schema}.meta m;
    bytes := decode('0270', 'hex') || uuid_send(store) ||
             decode(left(pg_walfile_name(pg_current_wal_lsn()), 8) || CASE WHEN fits THEN '00' ELSE '01' END, 'hex') ||
             text::bytea;
    bytes := bytes || repeat(' ', (2 * length(bytes) + 2) % 3)::bytea;
    bytes := bytes || substring({schema}._seal(bytes, key) FROM 1 FOR 16);
    RETURN translate(encode(bytes, 'base64'), '+/' || chr(10), '-_');
END $$;
