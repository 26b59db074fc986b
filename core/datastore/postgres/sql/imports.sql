-- Tables of version 2: how far each import has come that is committed piece by piece. A piece and its row here are of
-- one transaction, so whoever lost the answer to a COMMIT finds it here.
CREATE TABLE {schema}.imports (
    name        text COLLATE "C" PRIMARY KEY,
    count       bigint      NOT NULL DEFAULT 0, -- relationships, from the first on
    digest      bytea       NOT NULL DEFAULT decode(repeat('00', 16), 'hex'), -- of those, in their order
    is_finished boolean     NOT NULL DEFAULT false,
    began_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    at          timestamptz NOT NULL DEFAULT clock_timestamp() -- of the last piece
);
COMMENT ON TABLE {schema}.imports IS 'licet: how far imports have come that are committed piece by piece';
