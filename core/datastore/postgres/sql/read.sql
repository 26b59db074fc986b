-- Relationships in the notation of texts.

CREATE OR REPLACE FUNCTION {schema}._time_text(expires_at timestamptz, expires_ns smallint) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT rtrim(rtrim(to_char(expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') ||
                       lpad(expires_ns::text, 3, '0'), '0'), '.') || 'Z'
$$;

CREATE OR REPLACE FUNCTION {schema}._text(r {schema}.rel) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT r.rt || ':' || r.ri || '#' || r.rr || '@' || r.st || ':' || r.si ||
           CASE WHEN r.sr = '...' THEN '' ELSE '#' || r.sr END ||
           coalesce('[' || r.caveat || coalesce(':' || r.context::text, '') || ']', '') ||
           coalesce('[expiration:' || {schema}._time_text(r.expires_at, r.expires_ns) || ']', '')
$$;
