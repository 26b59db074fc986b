/* The public functions that tend a database, and the one place that knows which databases there are. */
#include "engine/database.h"

#ifdef LICET_WITH_POSTGRES
#include "datastore/postgres/postgres.h"
#else
#include "base/str.h"
#endif

#ifdef LICET_WITH_POSTGRES

bool lic_database_is(licet_str uri)
{
    return lic_postgres_uri_is(uri);
}

licet_status lic_database_open(const lic_store_host *host, licet_str uri, const licet_options *options,
                               lic_store **store, licet_error **error)
{
    return lic_postgres_store_new(host, uri, options, store, error);
}

#else

static licet_status fail_unsupported(licet_error **error)
{
    return lic_fail(error, LICET_UNSUPPORTED, LICET_KIND_CONFIG, LIC_NOWHERE, "licet was built without Postgres");
}

bool lic_database_is(licet_str uri)
{
    return lic_str_starts_with(uri, LIC_STR("postgresql:")) || lic_str_starts_with(uri, LIC_STR("postgres:"));
}

licet_status lic_database_open(const lic_store_host *host, licet_str uri, const licet_options *options,
                               lic_store **store, licet_error **error)
{
    (void)host;
    (void)uri;
    (void)options;
    *store = NULL;
    return fail_unsupported(error);
}

#endif
