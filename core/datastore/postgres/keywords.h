/* The keywords of connection strings that may be used, and which values each may have. */
#ifndef LIC_DATASTORE_POSTGRES_KEYWORDS_H
#define LIC_DATASTORE_POSTGRES_KEYWORDS_H

#include "base/str.h"

/* Keyword; the environment variable that libpq takes its value from where none is given, NULL: none, or one that we
 * always overrule; what its value has to be.
 *
 * Not among them, and so refused: service, servicefile (settings that nobody checked), replication, tty, authtype,
 * requiressl, sslkeylogfile, oauth_* (they print, and wait for people), scram_client_key, scram_server_key. */
#define LIC_PG_KEYWORD_LIST(X)                                  \
    X(host, "PGHOST", hosts)                                    \
    X(hostaddr, "PGHOSTADDR", addresses)                        \
    X(port, "PGPORT", ports)                                    \
    X(dbname, "PGDATABASE", text)                               \
    X(user, "PGUSER", text)                                     \
    X(password, "PGPASSWORD", secret)                           \
    X(passfile, "PGPASSFILE", text)                             \
    X(require_auth, "PGREQUIREAUTH", methods)                   \
    X(channel_binding, "PGCHANNELBINDING", demand)              \
    X(connect_timeout, NULL, number)                            \
    X(client_encoding, NULL, utf8)                              \
    X(options, "PGOPTIONS", options)                            \
    X(application_name, "PGAPPNAME", text)                      \
    X(fallback_application_name, NULL, text)                    \
    X(keepalives, NULL, number)                                 \
    X(keepalives_idle, NULL, number)                            \
    X(keepalives_interval, NULL, number)                        \
    X(keepalives_count, NULL, number)                           \
    X(tcp_user_timeout, NULL, number)                           \
    X(sslmode, "PGSSLMODE", sslmode)                            \
    X(sslnegotiation, "PGSSLNEGOTIATION", sslnegotiation)       \
    X(sslcompression, "PGSSLCOMPRESSION", flag)                 \
    X(sslcert, "PGSSLCERT", text)                               \
    X(sslkey, "PGSSLKEY", key_file)                             \
    X(sslcertmode, "PGSSLCERTMODE", sslcertmode)                \
    X(sslpassword, NULL, secret)                                \
    X(sslrootcert, "PGSSLROOTCERT", text)                       \
    X(sslcrl, "PGSSLCRL", text)                                 \
    X(sslcrldir, "PGSSLCRLDIR", text)                           \
    X(sslsni, "PGSSLSNI", flag)                                 \
    X(ssl_min_protocol_version, "PGSSLMINPROTOCOLVERSION", tls) \
    X(ssl_max_protocol_version, "PGSSLMAXPROTOCOLVERSION", tls) \
    X(min_protocol_version, "PGMINPROTOCOLVERSION", protocol)   \
    X(max_protocol_version, "PGMAXPROTOCOLVERSION", protocol)   \
    X(requirepeer, "PGREQUIREPEER", text)                       \
    X(gssencmode, "PGGSSENCMODE", demand)                       \
    X(krbsrvname, "PGKRBSRVNAME", text)                         \
    X(gsslib, "PGGSSLIB", gsslib)                               \
    X(gssdelegation, "PGGSSDELEGATION", flag)                   \
    X(target_session_attrs, "PGTARGETSESSIONATTRS", session)    \
    X(load_balance_hosts, "PGLOADBALANCEHOSTS", balance)

typedef enum lic_pg_keyword {
#define LIC_PG_KEYWORD_ENUM(name, variable, is) LIC_PG_KEYWORD_##name,
    LIC_PG_KEYWORD_LIST(LIC_PG_KEYWORD_ENUM)
#undef LIC_PG_KEYWORD_ENUM
        LIC_PG_KEYWORDS,
    LIC_PG_NO_KEYWORD = LIC_PG_KEYWORDS
} lic_pg_keyword;

/* LIC_PG_NO_KEYWORD: unknown, or not for us. */
lic_pg_keyword lic_pg_keyword_find(lic_str name);
const char    *lic_pg_keyword_name(lic_pg_keyword keyword);
const char    *lic_pg_keyword_variable(lic_pg_keyword keyword); /* NULL: none */
bool           lic_pg_keyword_is_secret(lic_pg_keyword keyword);

/* Why the value will not do: a literal, without anything of the value. NULL: it will. The value ends in NUL and is not
 * empty. */
const char *lic_pg_keyword_judge(lic_pg_keyword keyword, lic_str value);

/* Of values that have been judged: how many items a list has. */
size_t lic_pg_list_count(lic_str list);
/* Takes the first item off a list. false: there was none. Begin with *is_begun false. */
bool lic_pg_list_next(lic_str *list, lic_str *item, bool *is_begun);
bool lic_pg_read_number(lic_str digits, uint32_t max, uint32_t *number);

#endif
