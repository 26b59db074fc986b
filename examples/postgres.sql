-- Relationships that are written in a transaction of psql's. The tables and the schema are those of postgres_psycopg.py.
\set ON_ERROR_STOP on
\set QUIET on
\pset tuples_only on
\pset format unaligned

BEGIN;
INSERT INTO document VALUES ('letter', 'A letter');
SELECT licet.write('{
    "updates": [{"operation": "create", "relationship": "document:letter#owner@user:bo"},
                {"operation": "touch", "relationship": "document:letter#reader@user:ada"}],
    "preconditions": [{"must_not_match": {"resource_type": "document", "resource_id": "letter", "relation": "owner"}}]
}') AS token \gset
SELECT 'before the commit: ' || r FROM licet.read('{"filter": {"resource_type": "document", "resource_id": "letter"}}') r
    ORDER BY 1;
COMMIT;

BEGIN;
SELECT 'deleted: ' || (licet.delete('{"filter": {"resource_type": "document", "resource_id": "letter"}}') ->> 'deleted');
ROLLBACK;

SELECT 'after the rollback: ' || count(*) FROM licet.read('{"filter": {"resource_type": "document", "resource_id": "letter"}}');
