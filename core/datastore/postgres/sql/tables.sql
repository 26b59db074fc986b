-- Tables of version 1. Rows of rel are never changed in place: a relationship dies by its deleted_xid and lives on as a
-- new row, so that any snapshot within the window can be read. Stamps are pg_current_xact_id() of the writing
-- transaction, the top-level one also in savepoints; 9223372036854775807 means "not yet".

CREATE SCHEMA IF NOT EXISTS "{schema}";

CREATE TABLE {schema}.meta (
    one        boolean PRIMARY KEY DEFAULT true CHECK (one),
    version    integer NOT NULL,
    store      uuid    NOT NULL DEFAULT gen_random_uuid(),
    token_key  bytea   NOT NULL
               DEFAULT sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) ||
                              uuid_send(gen_random_uuid())),
    gc_horizon xid8    NOT NULL DEFAULT '0'
);
COMMENT ON TABLE {schema}.meta IS 'licet: which store this is, its version, and how far garbage collection went';

-- rel_live keeps one living row for each relationship. Dead rows are in no index that reads of the head use.
-- expires_ns: the nanoseconds below the microseconds that a timestamptz has. json, not jsonb: the text stays as given.
CREATE TABLE {schema}.rel (
    rt text COLLATE "C" NOT NULL,
    ri text COLLATE "C" NOT NULL,
    rr text COLLATE "C" NOT NULL,
    st text COLLATE "C" NOT NULL,
    si text COLLATE "C" NOT NULL,
    sr text COLLATE "C" NOT NULL DEFAULT '...',
    caveat      text COLLATE "C",
    context     json,
    expires_at  timestamptz,
    expires_ns  smallint NOT NULL DEFAULT 0,
    created_xid xid8     NOT NULL DEFAULT pg_current_xact_id(),
    deleted_xid xid8     NOT NULL DEFAULT '9223372036854775807'
);
CREATE UNIQUE INDEX rel_live ON {schema}.rel (rt, ri, rr, st, si, sr) WHERE deleted_xid = '9223372036854775807';
CREATE INDEX rel_reverse ON {schema}.rel (st, si, sr, rt, rr, ri) WHERE deleted_xid = '9223372036854775807';
CREATE INDEX rel_expires ON {schema}.rel (expires_at)
    WHERE deleted_xid = '9223372036854775807' AND expires_at IS NOT NULL;
CREATE INDEX rel_created ON {schema}.rel (created_xid);
CREATE INDEX rel_deleted ON {schema}.rel (deleted_xid) WHERE deleted_xid < '9223372036854775807';
CREATE INDEX rel_dead ON {schema}.rel (rt, ri, rr, st, si, sr) WHERE deleted_xid < '9223372036854775807';
CREATE INDEX rel_dead_reverse ON {schema}.rel (st, si, sr, rt, rr, ri) WHERE deleted_xid < '9223372036854775807';
COMMENT ON TABLE {schema}.rel IS 'licet: relationships, living and dead. Written by the functions of this schema only';

-- One row for each transaction that wrote. request: what an engine asks for when it doesn't know how its COMMIT ended.
-- collects: nothing changed but that rows which had expired long ago are dead now.
CREATE TABLE {schema}.tx (
    xid      xid8        PRIMARY KEY DEFAULT pg_current_xact_id(),
    at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    snapshot pg_snapshot NOT NULL DEFAULT pg_current_snapshot(),
    metadata json,
    request  uuid UNIQUE,
    collects boolean     NOT NULL DEFAULT false
);
CREATE INDEX tx_at ON {schema}.tx (at);
COMMENT ON TABLE {schema}.tx IS 'licet: transactions that wrote, within the window of garbage collection';

-- Schema texts. The one with the highest version that a snapshot shows is in force there.
CREATE TABLE {schema}.zed (
    version      bigint PRIMARY KEY,
    text         text   NOT NULL,
    created_xid  xid8   NOT NULL DEFAULT pg_current_xact_id(),
    replaced_xid xid8   NOT NULL DEFAULT '9223372036854775807'
);
COMMENT ON TABLE {schema}.zed IS 'licet: schemas, the one in force and those before it';

-- The schema in force, for judging relationships that applications write. Each definition has the relation '...', the
-- object itself. allowed.sr is '...' for subjects without relation and for wildcards; caveat is '' for none.
CREATE TABLE {schema}.names (
    definition    text COLLATE "C" NOT NULL,
    relation      text COLLATE "C" NOT NULL,
    is_permission boolean NOT NULL,
    PRIMARY KEY (definition, relation)
);
CREATE TABLE {schema}.allowed (
    rt text COLLATE "C" NOT NULL,
    rr text COLLATE "C" NOT NULL,
    st text COLLATE "C" NOT NULL,
    sr text COLLATE "C" NOT NULL,
    wildcard   boolean NOT NULL,
    caveat     text COLLATE "C" NOT NULL,
    expiration boolean NOT NULL,
    PRIMARY KEY (rt, rr, st, sr, wildcard, caveat, expiration)
);
CREATE TABLE {schema}.parameters (
    caveat text COLLATE "C" NOT NULL,
    name   text COLLATE "C" NOT NULL,
    type   text COLLATE "C" NOT NULL,
    PRIMARY KEY (caveat, name)
);
COMMENT ON TABLE {schema}.names IS 'licet: relations and permissions of the schema in force';
COMMENT ON TABLE {schema}.allowed IS 'licet: which subjects the relations of the schema in force allow';
COMMENT ON TABLE {schema}.parameters IS 'licet: parameters of the caveats of the schema in force';

-- What travels between the functions: one update of a write, and a filter.
CREATE TYPE {schema}._update AS (
    n         integer,             -- its place in the request, from 1
    operation text COLLATE "C",    -- create, touch, delete
    rt text COLLATE "C",
    ri text COLLATE "C",
    rr text COLLATE "C",
    st text COLLATE "C",
    si text COLLATE "C",
    sr text COLLATE "C",
    caveat     text COLLATE "C",
    context    json,
    expires_at timestamptz,
    expires_ns smallint
);
CREATE TYPE {schema}._filter AS (
    resource_type      text COLLATE "C",
    resource_id        text COLLATE "C",
    resource_id_prefix text COLLATE "C",
    relation           text COLLATE "C",
    subject_type       text COLLATE "C",
    subject_id         text COLLATE "C",
    subject_relation   text COLLATE "C"
);
-- And for fetch.sql: where a query begins, what it looks at, and what it has found.
CREATE TYPE {schema}._seed AS (
    k integer, -- the state
    i text COLLATE "C", -- id of the object
    s text COLLATE "C"  -- of the subject that is asked about
);
CREATE TYPE {schema}._probe AS (
    n  integer,
    k  integer, -- state of the objects that it is for
    rt text COLLATE "C",
    rr text COLLATE "C",
    st text COLLATE "C",
    sr text COLLATE "C",
    m  integer, -- 0: all rows, 1: the subject's, 2: the wildcard's
    nk integer  -- state of the objects that the rows lead to; 0: they lead nowhere
);
-- Two probes of mode 0 with nothing between their rows; or one, which is the second too.
CREATE TYPE {schema}._span AS (
    n  integer,
    k  integer,
    rt text COLLATE "C",
    rr text COLLATE "C",
    st text COLLATE "C",
    sr text COLLATE "C",
    m  integer,
    nk integer,
    n2  integer,
    rr2 text COLLATE "C",
    st2 text COLLATE "C",
    sr2 text COLLATE "C",
    nk2 integer
);
CREATE TYPE {schema}._found AS (
    n  integer, -- of the probe
    ri text COLLATE "C",
    si text COLLATE "C",
    caveat     text COLLATE "C",
    context    text,
    expires_at timestamptz,
    expires_ns smallint
);

INSERT INTO {schema}.meta (version) VALUES (0);
