-- Judging what applications send: shapes (schema.md 7, validation-files.md 2), and relationships against the schema in
-- force (schema.md 15a). What the engine sends it has judged itself, more finely; where this differs it is stricter. It
-- must never be laxer: an engine that follows answers nothing while there is a row that it can't read.
-- "^" and "$" are the ends of the text here, newlines are characters like others.

CREATE OR REPLACE FUNCTION {schema}._is_type(value text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT octet_length(value) <= 128 AND
           value COLLATE "C" ~ '^([a-z][a-z0-9_]{1,61}[a-z0-9]/)*[a-z][a-z0-9_]{1,62}[a-z0-9]$'
$$;
CREATE OR REPLACE FUNCTION {schema}._is_relation(value text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT value COLLATE "C" ~ '^[a-z][a-z0-9_]{1,62}[a-z0-9]$'
$$;
CREATE OR REPLACE FUNCTION {schema}._is_id(value text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT value COLLATE "C" ~ '^[a-zA-Z0-9/_|=+-]+$' AND octet_length(value) <= 1024
$$;
CREATE OR REPLACE FUNCTION {schema}._is_caveat(value text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT value COLLATE "C" ~ '^[a-zA-Z0-9_][a-zA-Z0-9/_|-]{0,127}$'
$$;

CREATE OR REPLACE FUNCTION {schema}._refuse(message text, reason text DEFAULT '') RETURNS void LANGUAGE sql AS $$
    SELECT {schema}._fail('LZ004', message, reason)
$$;

-- An object with no other keys than these.
CREATE OR REPLACE FUNCTION {schema}._require_object(value jsonb, field text, keys text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    other text;
BEGIN
    IF value IS NULL OR jsonb_typeof(value) <> 'object' THEN
        PERFORM {schema}._refuse(field || ': expected an object');
    END IF;
    SELECT k INTO other FROM jsonb_object_keys(value) k WHERE k <> ALL (keys) LIMIT 1;
    IF other IS NOT NULL THEN
        PERFORM {schema}._refuse(field || ': there is no ' || {schema}._quoted(other));
    END IF;
END $$;

-- The list of that name; what is not given is empty.
CREATE OR REPLACE FUNCTION {schema}._list_of(request jsonb, name text, most integer, reason text) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    list jsonb := coalesce(nullif(request -> name, 'null'), '[]');
BEGIN
    IF jsonb_typeof(list) <> 'array' THEN
        PERFORM {schema}._refuse(name || ': expected a list');
    END IF;
    IF jsonb_array_length(list) > most THEN
        PERFORM {schema}._fail('LZ007', jsonb_array_length(list) || ' ' || name || ' are more than the ' || most ||
                                        ' of one request', reason);
    END IF;
    RETURN list;
END $$;

-- The text of that name; NULL where it is not given.
CREATE OR REPLACE FUNCTION {schema}._text_of(object jsonb, name text, field text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    IF jsonb_typeof(object -> name) NOT IN ('string', 'null') THEN
        PERFORM {schema}._refuse(field || ': ' || name || ': expected a text');
    END IF;
    RETURN object ->> name;
END $$;

CREATE OR REPLACE FUNCTION {schema}._metadata_of(request jsonb) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
    metadata jsonb := nullif(request -> 'metadata', 'null');
BEGIN
    IF jsonb_typeof(metadata) <> 'object' THEN
        PERFORM {schema}._refuse('metadata: expected an object');
    END IF;
    IF octet_length(metadata::text) > 65000 THEN
        PERFORM {schema}._fail('LZ007', 'the metadata is larger than the 65000 bytes allowed',
                               'TRANSACTION_METADATA_TOO_LARGE');
    END IF;
    PERFORM {schema}._require_json(metadata, 'metadata');
    RETURN nullif(metadata, '{}')::text::json;
END $$;

-- The engine reads it as doubles of at most 1023 characters (jsonb spells 1e-1000 out), nested 64 deep at most, with
-- 1024 keys of an object at most.
CREATE OR REPLACE FUNCTION {schema}._require_json(value jsonb, field text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM jsonb_path_query(value, 'strict $.**{64 to last} ? (@.type() == "object" || '
                                                   '@.type() == "array")')) THEN
        PERFORM {schema}._fail('LZ007', field || ': nested deeper than 64', 'JSON_NESTING');
    END IF;
    IF EXISTS (SELECT FROM jsonb_path_query(value, 'strict $.** ? (@.type() == "number")') n
                   WHERE octet_length(n::text) > 1023 OR abs(n::numeric) >= 1.797693134862315807e308) THEN
        PERFORM {schema}._refuse(field || ': a number is out of the range of doubles');
    END IF;
    IF EXISTS (SELECT FROM jsonb_path_query(value, 'strict $.** ? (@.type() == "object")') o
                   WHERE (SELECT count(*) FROM jsonb_object_keys(o)) > 1024) THEN
        PERFORM {schema}._fail('LZ007', field || ': an object has more than 1024 keys', 'JSON_KEYS');
    END IF;
END $$;

-- RFC 3339, years 1 to 9999 of UTC, as UTC; NULL for anything else. Leap seconds are refused.
CREATE OR REPLACE FUNCTION {schema}._utc(instant text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    month  date;
    part   text[] := regexp_match(instant COLLATE "C", '^([0-9]{4})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T'
                                  '((?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])(?:[.]([0-9]+))?'
                                  '(?:Z|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))$');
    utc    timestamp;
    digits text;
BEGIN
    IF part IS NULL OR part[1] = '0000' THEN
        RETURN NULL;
    END IF;
    month := make_date(part[1]::integer, part[2]::integer, 1);
    IF part[3]::integer > extract(day FROM month + interval '1 month -1 day') THEN
        RETURN NULL;
    END IF;
    utc := month + (part[3]::integer - 1) + part[4]::time -
           coalesce((part[6] || part[7] || ':' || part[8])::interval, interval '0');
    IF utc < timestamp '0001-01-01' OR utc >= timestamp '10000-01-01' THEN
        RETURN NULL;
    END IF;
    digits := rtrim(left(coalesce(part[5], ''), 9), '0');
    RETURN to_char(utc, 'YYYY-MM-DD"T"HH24:MI:SS') || CASE WHEN digits = '' THEN '' ELSE '.' || digits END || 'Z';
END $$;

-- The six names of a relationship in the notation of texts. Each ends at a character that it can't hold; what is not
-- there is empty, and no name.
CREATE OR REPLACE FUNCTION {schema}._names_of(value text) RETURNS {schema}._update LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    names    text := split_part(value, '[', 1);
    resource text := split_part(names, '@', 1);
    subject  text := substr(names, length(resource) + 2);
    u        {schema}._update;
BEGIN
    u.rt     := split_part(resource, ':', 1);
    resource := substr(resource, length(u.rt) + 2);
    u.ri     := split_part(resource, '#', 1);
    u.rr     := substr(resource, length(u.ri) + 2);
    u.st     := split_part(subject, ':', 1);
    subject  := substr(subject, length(u.st) + 2);
    u.si     := split_part(subject, '#', 1);
    u.sr     := CASE WHEN strpos(subject, '#') = 0 THEN '...' ELSE substr(subject, length(u.si) + 2) END;
    RETURN u;
END $$;

-- What follows the names, "[caveat:{...}][expiration:...]", as an object. A name and ":{" make even `expiration` one.
CREATE OR REPLACE FUNCTION {schema}._decorations_of(value text, field text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    rest text   := substr(value, strpos(value, '['));
    part text[] := '{}';
BEGIN
    IF rest COLLATE "C" ~ '^[[]expiration:[0-9T:.Z-]+[]]$' THEN
        part[3] := substr(rest, 13, length(rest) - 13);
    ELSE
        part := regexp_match(rest COLLATE "C",
                             '^[[]([a-z0-9_/]+)(?::([{].+[}]))?[]](?:[[]expiration:([0-9T:.Z-]+)[]])?$');
    END IF;
    IF part IS NULL OR strpos(part[2], chr(10)) > 0 OR NOT {schema}._is_type(part[1]) THEN
        PERFORM {schema}._refuse(field || ': invalid relationship ' || {schema}._quoted(value));
    END IF;
    RETURN jsonb_build_object('caveat_name', part[1], 'caveat_context', part[2], 'expiration', part[3]);
END $$;

-- Of a field of a protobuf message that holds so many: those, their number, and a tag.
CREATE OR REPLACE FUNCTION {schema}._field_bytes(held bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN held + CASE WHEN held < 128 THEN 2 WHEN held < 16384 THEN 3 WHEN held < 2097152 THEN 4 ELSE 5 END;
END $$;

-- What an object or a list takes as google.protobuf.Struct or ListValue, by which SpiceDB and the engine limit contexts.
-- The caller bounds the depth.
CREATE OR REPLACE FUNCTION {schema}._wire_bytes(container jsonb) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    is_object boolean := jsonb_typeof(container) = 'object';
BEGIN
    RETURN (SELECT coalesce(sum({schema}._field_bytes(CASE
                                    WHEN is_object THEN {schema}._field_bytes(octet_length(s.key)) +
                                                        {schema}._field_bytes(s.bytes)
                                    ELSE s.bytes END)), 0)
        FROM (SELECT m.key, CASE WHEN m.value IN ('[]', '{}') THEN 2
                                 WHEN jsonb_typeof(m.value) = 'number' THEN 9
                                 WHEN jsonb_typeof(m.value) = 'string' THEN
                                     {schema}._field_bytes(octet_length(m.value #>> '{}'))
                                 WHEN jsonb_typeof(m.value) IN ('object', 'array') THEN
                                     {schema}._field_bytes({schema}._wire_bytes(m.value))
                                 ELSE 2 END AS bytes
                  FROM (SELECT o.key, o.value
                            FROM jsonb_each(CASE WHEN is_object THEN container ELSE '{}' END) o
                        UNION ALL
                        SELECT NULL, l.value
                            FROM jsonb_array_elements(CASE WHEN is_object THEN '[]' ELSE container END) l) m) s);
END $$;

-- Are caveat and context too large together? A value takes no more than four bytes for each of its text (lists of
-- numbers do, nearly), so most need not be measured.
CREATE OR REPLACE FUNCTION {schema}._is_large(caveat text, context jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN 4 * octet_length(context::text) + octet_length(caveat) > 24900 AND
           {schema}._field_bytes(octet_length(caveat)) + {schema}._field_bytes({schema}._wire_bytes(context)) > 25000;
END $$;

CREATE OR REPLACE FUNCTION {schema}._context_of(relationship jsonb, caveat text, field text) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    context jsonb := nullif(relationship -> 'caveat_context', 'null');
BEGIN
    IF context IS NULL THEN
        RETURN NULL;
    END IF;
    IF caveat IS NULL THEN
        PERFORM {schema}._refuse(field || ': a caveat context is given, but no caveat');
    END IF;
    BEGIN
        context := {schema}._json(context)::jsonb;
    EXCEPTION WHEN data_exception THEN
        context := '[]';
    END;
    IF jsonb_typeof(context) <> 'object' THEN
        PERFORM {schema}._refuse(field || ': the caveat''s context is not a JSON object');
    END IF;
    PERFORM {schema}._require_json(context, field);
    IF {schema}._is_large(caveat, context) THEN
        PERFORM {schema}._fail('LZ007', field || ': caveat and context are more than the 25000 bytes allowed',
                               'MAX_RELATIONSHIP_CONTEXT_SIZE');
    END IF;
    RETURN nullif(context, '{}');
END $$;

-- One update, its shape judged. A text is a relationship in the notation, an object has its fields.
CREATE OR REPLACE FUNCTION {schema}._update_of(item jsonb, number integer) RETURNS {schema}._update
LANGUAGE plpgsql AS $$
DECLARE
    field text  := 'update ' || number;
    r     jsonb := item -> 'relationship'; -- what it has beside its names
    u     {schema}._update;
BEGIN
    PERFORM {schema}._require_object(item, field, '{operation,relationship}');
    IF jsonb_typeof(r) = 'string' THEN
        u := {schema}._names_of(r #>> '{}');
        r := CASE WHEN strpos(r #>> '{}', '[') > 0 THEN {schema}._decorations_of(r #>> '{}', field) END;
    ELSE
        PERFORM {schema}._require_object(r, field || ': relationship', '{resource_type,resource_id,relation,'
            'subject_type,subject_id,subject_relation,caveat_name,caveat_context,expiration}');
        u.rt := {schema}._text_of(r, 'resource_type', field);
        u.ri := {schema}._text_of(r, 'resource_id', field);
        u.rr := {schema}._text_of(r, 'relation', field);
        u.st := {schema}._text_of(r, 'subject_type', field);
        u.si := {schema}._text_of(r, 'subject_id', field);
        u.sr := coalesce({schema}._text_of(r, 'subject_relation', field), '...');
    END IF;
    u.n          := number;
    u.operation  := {schema}._text_of(item, 'operation', field);
    u.expires_ns := 0;
    IF u.operation IS NULL OR u.operation NOT IN ('create', 'touch', 'delete') THEN
        PERFORM {schema}._refuse(field || ': the operation is none of "create", "touch" and "delete"');
    END IF;
    IF r IS NOT NULL THEN
        u.caveat := {schema}._text_of(r, 'caveat_name', field);
    END IF;
    PERFORM {schema}._require_shape(u, field);
    IF r IS NULL THEN
        RETURN u;
    END IF;
    u.context := {schema}._context_of(r, u.caveat, field)::text::json;
    RETURN {schema}._with_expiration(u, {schema}._text_of(r, 'expiration', field), field);
END $$;

CREATE OR REPLACE FUNCTION {schema}._with_expiration(u {schema}._update, instant text, field text)
RETURNS {schema}._update LANGUAGE plpgsql AS $$
DECLARE
    utc text := {schema}._utc(instant);
BEGIN
    IF instant IS NOT NULL AND utc IS NULL THEN
        PERFORM {schema}._refuse(field || ': expiration: expected a time like 2030-01-02T03:04:05Z, not ' ||
                                 {schema}._quoted(instant));
    END IF;
    u.expires_at := {schema}._microseconds(utc);
    u.expires_ns := {schema}._nanoseconds(utc);
    RETURN u;
END $$;

CREATE OR REPLACE FUNCTION {schema}._require_shape(u {schema}._update, field text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    wrong text := CASE WHEN NOT coalesce({schema}._is_type(u.rt), false)                     THEN 'resource_type'
                       WHEN NOT coalesce({schema}._is_id(u.ri), false)                       THEN 'resource_id'
                       WHEN NOT coalesce({schema}._is_relation(u.rr), false)                 THEN 'relation'
                       WHEN NOT coalesce({schema}._is_type(u.st), false)                     THEN 'subject_type'
                       WHEN NOT coalesce(u.si = '*' OR {schema}._is_id(u.si), false)         THEN 'subject_id'
                       WHEN NOT (u.sr = '...' OR {schema}._is_relation(u.sr))                THEN 'subject_relation'
                       WHEN u.caveat IS NOT NULL AND NOT {schema}._is_caveat(u.caveat)       THEN 'caveat_name' END;
    value text := CASE wrong WHEN 'resource_type' THEN u.rt WHEN 'resource_id' THEN u.ri WHEN 'relation' THEN u.rr
                             WHEN 'subject_type' THEN u.st WHEN 'subject_id' THEN u.si WHEN 'subject_relation' THEN u.sr
                             WHEN 'caveat_name' THEN u.caveat END;
BEGIN
    IF wrong IS NOT NULL THEN
        PERFORM {schema}._refuse(field || ': ' || wrong || ': ' || coalesce({schema}._quoted(value) || ' is not one',
                                                                            'must be given'));
    END IF;
    IF u.si = '*' AND u.sr <> '...' THEN
        PERFORM {schema}._refuse(field || ': the wildcard subject can not have a relation');
    END IF;
END $$;

-- All of them, in the order of their keys.
CREATE OR REPLACE FUNCTION {schema}._judged_updates(items jsonb) RETURNS {schema}._update[] LANGUAGE plpgsql AS $$
DECLARE
    updates {schema}._update[];
    again   {schema}._update;
BEGIN
    SELECT coalesce(array_agg(u ORDER BY u.rt, u.ri, u.rr, u.st, u.si, u.sr), '{}') INTO updates
        FROM jsonb_array_elements(items) WITH ORDINALITY AS i (item, number),
             LATERAL {schema}._update_of(i.item, i.number::integer) u;
    SELECT d.* INTO again
        FROM (SELECT u.*, row_number() OVER (PARTITION BY u.rt, u.ri, u.rr, u.st, u.si, u.sr ORDER BY u.n) AS time
                  FROM unnest(updates) u) d
        WHERE d.time > 1 ORDER BY d.n LIMIT 1;
    IF again.n IS NOT NULL THEN
        PERFORM {schema}._refuse('update ' || again.n || ': ' || {schema}._quoted({schema}._key(again)) ||
                                 ' is in the request twice', 'UPDATES_ON_SAME_RELATIONSHIP');
    END IF;
    RETURN updates;
END $$;

-- ------------------------------------------------------------ against the schema

CREATE OR REPLACE FUNCTION {schema}._fail_definition(name text, field text) RETURNS void LANGUAGE sql AS $$
    SELECT {schema}._fail('LZ005', field || ': object definition `' || name || '` not found', 'UNKNOWN_DEFINITION')
$$;
CREATE OR REPLACE FUNCTION {schema}._fail_relation(definition text, name text, field text) RETURNS void
LANGUAGE sql AS $$
    SELECT {schema}._fail('LZ005', field || ': relation/permission `' || name || '` not found under definition `' ||
                                   definition || '`', 'UNKNOWN_RELATION_OR_PERMISSION')
$$;

-- Fails if there is no such name. relation: NULL for none.
CREATE OR REPLACE FUNCTION {schema}._require_name(type text, name text, field text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM {schema}.names n WHERE n.definition = type AND n.relation = '...') THEN
        PERFORM {schema}._fail_definition(type, field);
    END IF;
    IF NOT EXISTS (SELECT FROM {schema}.names n WHERE n.definition = type AND n.relation = coalesce(name, '...')) THEN
        PERFORM {schema}._fail_relation(type, name, field);
    END IF;
END $$;

-- An update's subject must be one that its relation allows. One that is to be deleted and names no caveat may be of any
-- form. Most writes are right: why one is not is looked for afterwards.
CREATE OR REPLACE FUNCTION {schema}._require_allowed(updates {schema}._update[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    u record;
BEGIN
    FOR u IN SELECT *
                 FROM (SELECT c.*, EXISTS (SELECT FROM {schema}.allowed a
                                 WHERE a.rt = c.rt AND a.rr = c.rr AND a.st = c.st AND a.sr = c.sr AND
                                       a.wildcard = (c.si = '*') AND
                                       (c.operation = 'delete' AND c.caveat IS NULL OR
                                        a.caveat = coalesce(c.caveat, '') AND
                                        a.expiration = (c.expires_at IS NOT NULL))) AS is_allowed
                           FROM unnest(updates) c) d
                 WHERE d.context IS NOT NULL OR NOT d.is_allowed ORDER BY d.n LOOP
        IF NOT u.is_allowed THEN
            PERFORM {schema}._fail_update(updates, u.n);
        END IF;
        PERFORM {schema}._require_context(u.caveat, u.context::jsonb, 'update ' || u.n);
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION {schema}._fail_update(updates {schema}._update[], number integer) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    field text := 'update ' || number;
    u     {schema}._update;
BEGIN
    SELECT c.* INTO u FROM unnest(updates) c WHERE c.n = number;
    PERFORM {schema}._require_name(u.rt, u.rr, field);
    PERFORM {schema}._require_name(u.st, u.sr, field);
    IF (SELECT n.is_permission FROM {schema}.names n WHERE n.definition = u.rt AND n.relation = u.rr) THEN
        PERFORM {schema}._refuse(field || ': cannot write a relationship to permission `' || u.rr ||
                                 '` under definition `' || u.rt || '`', 'CANNOT_UPDATE_PERMISSION');
    END IF;
    PERFORM {schema}._refuse(field || ': subjects of type `' || {schema}._form(u) ||
                             '` are not allowed on relation `' || u.rt || '#' || u.rr || '`', 'INVALID_SUBJECT_TYPE');
END $$;

-- As in the schema's text: "group#member with c and expiration".
CREATE OR REPLACE FUNCTION {schema}._form(u {schema}._update) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT u.st || CASE WHEN u.si = '*' THEN ':*' WHEN u.sr <> '...' THEN '#' || u.sr ELSE '' END ||
           coalesce(' with ' || u.caveat, '') ||
           CASE WHEN u.expires_at IS NULL THEN '' WHEN u.caveat IS NULL THEN ' with expiration'
                ELSE ' and expiration' END
$$;

CREATE OR REPLACE FUNCTION {schema}._require_context(caveat_name text, context jsonb, field text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    e record;
BEGIN
    FOR e IN SELECT c.key, c.value, p.type FROM jsonb_each(context) c
                 LEFT JOIN {schema}.parameters p ON p.caveat = caveat_name AND p.name = c.key LOOP
        IF e.type IS NULL THEN
            PERFORM {schema}._refuse(field || ': unknown parameter ' || {schema}._quoted(e.key) || ': caveat `' ||
                                     caveat_name || '` has none of this name');
        END IF;
        IF NOT {schema}._converts(e.value, e.type) THEN
            PERFORM {schema}._refuse(field || ': parameter `' || e.key || '` of caveat `' || caveat_name ||
                                     '` is no ' || e.type, 'CAVEAT_PARAMETER_TYPE_ERROR');
        END IF;
    END LOOP;
END $$;

-- A number, or a text that is one, of at most 1023 characters; NULL for what is neither.
CREATE OR REPLACE FUNCTION {schema}._number(value jsonb) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN jsonb_typeof(value) = 'number' OR jsonb_typeof(value) = 'string' AND
                     octet_length(value #>> '{}') <= 1023 AND
                     (value #>> '{}') COLLATE "C" ~ '^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,3})?$'
                THEN (value #>> '{}')::numeric END
$$;

-- Does the value become what the parameter is? caveats.md 3; less lax about times, addresses and base64. The depth is
-- that of the type, which the schema's reader bounds.
CREATE OR REPLACE FUNCTION {schema}._converts(value jsonb, type text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    kind       text    := jsonb_typeof(value);
    value_text text    := value #>> '{}';
    number     numeric := {schema}._number(value);
    inner_type text    := substring(type FROM '^(?:list|map)<(.*)>$');
BEGIN
    IF type LIKE 'list<%' THEN
        RETURN kind = 'array' AND NOT EXISTS (
            SELECT FROM jsonb_array_elements(CASE kind WHEN 'array' THEN value ELSE '[]' END) e
                WHERE NOT {schema}._converts(e, inner_type));
    ELSIF type LIKE 'map<%' THEN
        RETURN kind = 'object' AND NOT EXISTS (
            SELECT FROM jsonb_each(CASE kind WHEN 'object' THEN value ELSE '{}' END) e
                WHERE NOT {schema}._converts(e.value, inner_type));
    END IF;
    RETURN CASE type
        WHEN 'any'    THEN true
        WHEN 'bool'   THEN kind = 'boolean'
        WHEN 'string' THEN kind = 'string'
        WHEN 'int'    THEN coalesce(number = trunc(number), false)
        WHEN 'uint'   THEN coalesce(number = trunc(number) AND number >= 0, false)
        WHEN 'double' THEN number IS NOT NULL OR kind = 'string' AND value_text IN ('Inf', '+Inf', '-Inf')
        WHEN 'bytes'  THEN kind = 'string' AND value_text COLLATE "C" ~
                           '^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$'
        WHEN 'duration' THEN kind = 'string' AND {schema}._is_duration(value_text)
        WHEN 'timestamp' THEN kind = 'string' AND {schema}._utc(value_text) IS NOT NULL
        WHEN 'ipaddress' THEN kind = 'string' AND {schema}._is_address(value_text)
        ELSE false END;
END $$;

-- As Go's time.ParseDuration: "1h1.5s", within 64 bits of nanoseconds. Parts of a nanosecond count as whole ones: what
-- Go makes of them is that or less. Past 20 digits a fraction decides nothing.
CREATE OR REPLACE FUNCTION {schema}._is_duration(value text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    spelled text    := translate(value, chr(181) || chr(956), 'uu');
    most    numeric := CASE WHEN value LIKE '-%' THEN 9223372036854775808 ELSE 9223372036854775807 END;
BEGIN
    IF spelled COLLATE "C" !~ '^[+-]?(0|(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|ms|s|m|h))+)$' THEN
        RETURN false;
    END IF;
    RETURN (SELECT coalesce(sum(ceil(('0' || p[1] || '.' || left(p[2], 20) || '0')::numeric *
                                     CASE p[3] WHEN 'ns' THEN 1 WHEN 'us' THEN 1000 WHEN 'ms' THEN 1000000
                                               WHEN 's' THEN 1000000000 WHEN 'm' THEN 60000000000
                                               ELSE 3600000000000 END)), 0) <= most
        FROM regexp_matches(spelled COLLATE "C", '([0-9]*)[.]?([0-9]*)(ns|us|ms|s|m|h)', 'g') p);
END $$;

-- Without a zone. Postgres' own reader takes more, such as "::1.2.3".
CREATE OR REPLACE FUNCTION {schema}._is_address(value text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    dotted CONSTANT text := '((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])([.](?!$)|$)){4}$';
    series CONSTANT text := '([0-9a-fA-F]{1,4}(:[0-9a-fA-F]{1,4})*)?';
    groups text; -- two for the dotted tail
BEGIN
    IF strpos(value, ':') = 0 THEN
        RETURN value COLLATE "C" ~ ('^' || dotted);
    END IF;
    groups := regexp_replace(value COLLATE "C", ':' || dotted, ':0:0');
    RETURN groups COLLATE "C" ~ '^([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}$' OR
           groups COLLATE "C" ~ ('^' || series || '::' || series || '$') AND
           cardinality(array_remove(string_to_array(groups, ':'), '')) <= 7;
END $$;

-- ------------------------------------------------------------ filters

-- The shape of a filter, and the filter as it is meant: an empty field is not given, but for subject_relation, which
-- then means none.
CREATE OR REPLACE FUNCTION {schema}._judged_filter(filter jsonb, field text, is_read boolean) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    f     {schema}._filter;
    wrong text;
BEGIN
    PERFORM {schema}._require_object(filter, field, '{resource_type,resource_id,resource_id_prefix,relation,'
                                                    'subject_type,subject_id,subject_relation}');
    f.resource_type      := nullif({schema}._text_of(filter, 'resource_type', field), '');
    f.resource_id        := nullif({schema}._text_of(filter, 'resource_id', field), '');
    f.resource_id_prefix := nullif({schema}._text_of(filter, 'resource_id_prefix', field), '');
    f.relation           := nullif({schema}._text_of(filter, 'relation', field), '');
    f.subject_type       := nullif({schema}._text_of(filter, 'subject_type', field), '');
    f.subject_id         := nullif({schema}._text_of(filter, 'subject_id', field), '');
    f.subject_relation   := {schema}._text_of(filter, 'subject_relation', field);
    wrong := CASE WHEN NOT {schema}._is_type(f.resource_type)                    THEN 'resource_type'
                  WHEN NOT {schema}._is_id(f.resource_id)                        THEN 'resource_id'
                  WHEN NOT {schema}._is_id(f.resource_id_prefix)                 THEN 'resource_id_prefix'
                  WHEN NOT {schema}._is_relation(f.relation)                     THEN 'relation'
                  WHEN NOT {schema}._is_type(f.subject_type)                     THEN 'subject_type'
                  WHEN NOT (f.subject_id = '*' OR {schema}._is_id(f.subject_id)) THEN 'subject_id'
                  WHEN NOT (f.subject_relation = '' OR {schema}._is_relation(f.subject_relation))
                                                                                 THEN 'subject_relation' END;
    IF wrong IS NOT NULL THEN
        PERFORM {schema}._refuse(field || ': ' || wrong || ': ' || {schema}._quoted(filter ->> wrong) || ' is not one');
    END IF;
    IF f.subject_type IS NULL AND (f.subject_id IS NOT NULL OR f.subject_relation IS NOT NULL) THEN
        PERFORM {schema}._refuse(field || ': subject_type must be given with subject_id or subject_relation');
    END IF;
    IF f.subject_id = '*' AND f.subject_relation <> '' AND NOT is_read THEN
        PERFORM {schema}._refuse(field || ': the wildcard subject can not have a relation');
    END IF;
    RETURN jsonb_strip_nulls(to_jsonb(f));
END $$;

-- Its names, where there is a type to look them up under; then whether it is one at all.
CREATE OR REPLACE FUNCTION {schema}._require_filter_names(filter jsonb, field text, is_read boolean) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    f {schema}._filter := {schema}._filter_of(filter);
BEGIN
    IF f.resource_type IS NOT NULL THEN
        PERFORM {schema}._require_name(f.resource_type, f.relation, field);
    END IF;
    IF is_read AND (SELECT n.is_permission FROM {schema}.names n
                        WHERE n.definition = f.resource_type AND n.relation = f.relation) THEN
        PERFORM {schema}._refuse('cannot read relationships of permission `' || f.relation || '` under definition `' ||
                                 f.resource_type || '`', 'SCHEMA_TYPE_ERROR');
    END IF;
    IF f.subject_type IS NOT NULL THEN
        PERFORM {schema}._require_name(f.subject_type, nullif(f.subject_relation, ''), field);
    END IF;
    IF f.resource_id IS NOT NULL AND f.resource_id_prefix IS NOT NULL THEN
        PERFORM {schema}._refuse(field || ': resource_id and resource_id_prefix exclude each other', 'INVALID_FILTER');
    END IF;
    IF filter = '{}' THEN
        PERFORM {schema}._refuse(field || ': at least one field must be given', 'INVALID_FILTER');
    END IF;
END $$;

CREATE OR REPLACE FUNCTION {schema}._judged_preconditions(items jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    judged jsonb   := '[]';
    number integer := 0;
    item   jsonb;
    kind   text;
BEGIN
    FOR item IN SELECT jsonb_array_elements(items) LOOP
        number := number + 1;
        PERFORM {schema}._require_object(item, 'precondition ' || number, '{must_match,must_not_match}');
        IF (SELECT count(*) FROM jsonb_object_keys(item)) <> 1 THEN
            PERFORM {schema}._refuse('precondition ' || number || ': expected one of must_match and must_not_match');
        END IF;
        kind   := jsonb_object_keys(item);
        item   := {schema}._judged_filter(item -> kind, 'precondition ' || number, false);
        judged := judged || jsonb_build_object(kind, item);
    END LOOP;
    RETURN judged;
END $$;

CREATE OR REPLACE FUNCTION {schema}._require_precondition_names(preconditions jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    p record;
BEGIN
    FOR p IN SELECT i.number, coalesce(i.item -> 'must_match', i.item -> 'must_not_match') AS filter
                 FROM jsonb_array_elements(preconditions) WITH ORDINALITY AS i (item, number) LOOP
        PERFORM {schema}._require_filter_names(p.filter, 'precondition ' || p.number, false);
    END LOOP;
END $$;

-- How many at most; NULL: all.
CREATE OR REPLACE FUNCTION {schema}._limit_of(request jsonb) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    given jsonb := nullif(request -> 'limit', 'null');
    most  numeric;
BEGIN
    IF jsonb_typeof(given) <> 'number' OR given::numeric < 0 OR given::numeric <> trunc(given::numeric) THEN
        PERFORM {schema}._refuse('limit: expected a whole number');
    END IF;
    most := given::numeric;
    IF most > 1000 THEN
        PERFORM {schema}._fail('LZ007', 'a limit of ' || left(most::text, 20) || ' is more than the 1000 allowed',
                               'EXCEEDS_MAXIMUM_ALLOWABLE_LIMIT');
    END IF;
    RETURN nullif(most, 0)::bigint;
END $$;
