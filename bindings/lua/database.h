/* migrate() and doctor(): what tends a database, without an engine. */
#ifndef LICET_LUA_DATABASE_H
#define LICET_LUA_DATABASE_H

#include "module.h"

/* migrate(uri, {dry_run, postgres_schema, require_tls, wait_timeout_ms}) -> sql | nil, err */
int database_migrate(lua_State *L);

/* doctor(uri, {postgres_schema, require_tls, wait_timeout_ms}) -> {ok, findings} | nil, err */
int database_doctor(lua_State *L);

#endif
