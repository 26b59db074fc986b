/* Every value is judged here by what libpq and the server would make of it, so that a bad one fails at once and not
 * with the first connection. */
#include "datastore/postgres/keywords.h"

#include <arpa/inet.h>
#include <limits.h>
#include <strings.h>

#include "base/utf8.h"

#define MAX_HOSTS 32

/* ------------------------------------------------------------ lists and numbers */

size_t lic_pg_list_count(lic_str list)
{
    size_t count = 1;

    for (size_t i = 0; i < list.size; i++)
        count += list.data[i] == ',';
    return count;
}

bool lic_pg_list_next(lic_str *list, lic_str *item, bool *is_begun)
{
    size_t size;

    if (*is_begun && list->size == 0)
        return false;
    if (*is_begun)
        *list = lic_str_slice(*list, 1, list->size); /* the comma */
    *is_begun = true;
    size      = lic_str_find(*list, ',');
    *item     = lic_str_slice(*list, 0, size);
    *list     = lic_str_slice(*list, size, list->size);
    return true;
}

bool lic_pg_read_number(lic_str digits, uint32_t max, uint32_t *number)
{
    uint64_t sum = 0;

    if (digits.size == 0)
        return false;
    for (size_t i = 0; i < digits.size; i++) {
        if (digits.data[i] < '0' || digits.data[i] > '9')
            return false;
        sum = sum * 10 + (uint64_t)(digits.data[i] - '0');
        if (sum > max)
            return false;
    }
    *number = (uint32_t)sum;
    return true;
}

/* ------------------------------------------------------------ judges */

static const char *judge_secret(lic_str value)
{
    return lic_utf8_check(value) == value.size ? NULL : "is not UTF-8";
}

static const char *judge_text(lic_str value)
{
    for (size_t i = 0; i < value.size; i++)
        if ((unsigned char)value.data[i] < ' ' || value.data[i] == 0x7f)
            return "has a control character";
    return judge_secret(value);
}

static const char *judge_hosts(lic_str value)
{
    bool    is_begun = false;
    lic_str host;

    if (lic_pg_list_count(value) > MAX_HOSTS)
        return "has too many hosts";
    while (lic_pg_list_next(&value, &host, &is_begun))
        if (host.size == 0)
            return "has an empty host";
        else if (lic_str_find(host, '"') < host.size) /* what libpq quotes must be told from the rest: see open.c */
            return "has a quote in a host";
    return judge_text(value);
}

/* An address, perhaps with the zone that it is meant in ("fe80::1%eth0"). */
static bool is_address(lic_str text)
{
    unsigned char address[16];
    char          copy[64];
    size_t        size = lic_str_find(text, '%');

    if (size >= sizeof copy)
        return false;
    memcpy(copy, text.data, size);
    copy[size] = '\0';
    return inet_pton(AF_INET6, copy, address) == 1 || (size == text.size && inet_pton(AF_INET, copy, address) == 1);
}

static const char *judge_addresses(lic_str value)
{
    bool    is_begun = false;
    lic_str address;

    if (lic_pg_list_count(value) > MAX_HOSTS)
        return "has too many addresses";
    while (lic_pg_list_next(&value, &address, &is_begun))
        if (!is_address(address))
            return "is not an address";
    return judge_text(value);
}

/* An empty one among several is the usual port. */
static const char *judge_ports(lic_str value)
{
    bool     is_begun = false;
    lic_str  port;
    uint32_t number;

    if (lic_pg_list_count(value) > MAX_HOSTS)
        return "has too many ports";
    while (lic_pg_list_next(&value, &port, &is_begun))
        if (port.size > 0 && (!lic_pg_read_number(port, 65535, &number) || number == 0))
            return "is not a port from 1 to 65535";
    return NULL;
}

static const char *judge_number(lic_str value)
{
    uint32_t number;

    return lic_pg_read_number(value, INT_MAX, &number) ? NULL : "is not a number from 0 to 2147483647";
}

static const char *judge_flag(lic_str value)
{
    return value.size == 1 && (value.data[0] == '0' || value.data[0] == '1') ? NULL : "is neither 0 nor 1";
}

static const char *judge_key_file(lic_str value)
{
    return lic_str_find(value, ':') < value.size ? "names a crypto engine" : judge_text(value);
}

static const char *judge_utf8(lic_str value)
{
    return strcasecmp(value.data, "utf8") == 0 || strcasecmp(value.data, "utf-8") == 0 ? NULL : "is not UTF8";
}

/* words: separated by blanks. */
static const char *judge_word(lic_str value, const char *words)
{
    lic_str list = { words, strlen(words) };

    while (list.size > 0) {
        size_t size = lic_str_find(list, ' ');

        if (lic_str_equal(value, lic_str_slice(list, 0, size)))
            return NULL;
        list = lic_str_slice(list, size < list.size ? size + 1 : size, list.size);
    }
    return "has none of its values";
}

static const char *judge_demand(lic_str value)
{
    return judge_word(value, "disable prefer require");
}

/* All of them wanted, or all of them unwanted ("!md5,!password"). */
static const char *judge_methods(lic_str value)
{
    const bool  are_unwanted = value.data[0] == '!';
    bool        is_begun     = false;
    const char *why          = NULL;
    lic_str     method;

    while (why == NULL && lic_pg_list_next(&value, &method, &is_begun)) {
        if ((method.size > 0 && method.data[0] == '!') != are_unwanted)
            return "has some methods with and some without \"!\"";
        method = lic_str_slice(method, are_unwanted ? 1 : 0, method.size);
        why    = judge_word(method, "password md5 gss sspi scram-sha-256 creds none oauth");
    }
    return why;
}

static const char *judge_sslmode(lic_str value)
{
    return judge_word(value, "disable allow prefer require verify-ca verify-full");
}

static const char *judge_sslnegotiation(lic_str value)
{
    return judge_word(value, "postgres direct");
}

static const char *judge_sslcertmode(lic_str value)
{
    return judge_word(value, "disable allow require");
}

static const char *judge_tls(lic_str value)
{
    return judge_word(value, "TLSv1 TLSv1.1 TLSv1.2 TLSv1.3");
}

static const char *judge_protocol(lic_str value)
{
    return judge_word(value, "3.0 3.2 latest");
}

static const char *judge_gsslib(lic_str value)
{
    return judge_word(value, "gssapi sspi");
}

static const char *judge_session(lic_str value)
{
    return judge_word(value, "any read-write read-only primary standby prefer-standby");
}

static const char *judge_balance(lic_str value)
{
    return judge_word(value, "disable random");
}

/* ------------------------------------------------------------ options */

/* What each link sets, or relies on. */
static const char *const managed[] = {
    "client_encoding",
    "datestyle",
    "default_transaction_deferrable",
    "default_transaction_isolation",
    "default_transaction_read_only",
    "idle_in_transaction_session_timeout",
    "jit",
    "lock_timeout",
    "plan_cache_mode",
    "row_security",
    "search_path",
    "session_replication_role",
    "standard_conforming_strings",
    "statement_timeout",
    "synchronous_commit",
    "timezone",
    "transaction_deferrable",
    "transaction_isolation",
    "transaction_read_only",
    "transaction_timeout",
};

#define MAX_PARAMETER_BYTES 64

/* Of "name=value", as the server reads it: '-' is '_', and case does not matter. */
static const char *judge_parameter(lic_str setting)
{
    size_t size = lic_str_find(setting, '=');
    char   name[MAX_PARAMETER_BYTES];

    if (size == setting.size || size == 0 || size >= sizeof name)
        return "has something else than -c name=value";
    for (size_t i = 0; i < size; i++)
        name[i] = setting.data[i] == '-' ? '_' : setting.data[i];
    name[size] = '\0';
    for (size_t i = 0; i < sizeof managed / sizeof *managed; i++)
        if (strcasecmp(name, managed[i]) == 0)
            return "sets what licet sets itself";
    return NULL;
}

/* Words as the server cuts them: at blanks, a backslash takes the next character as it is. word has room for all of
 * text. */
static bool next_word(lic_str *text, char *word, size_t *size)
{
    size_t i = 0;

    *size = 0;
    while (i < text->size && strchr(" \t\n\v\f\r", text->data[i]) != NULL)
        i++;
    if (i == text->size)
        return false;
    for (; i < text->size && strchr(" \t\n\v\f\r", text->data[i]) == NULL; i++) {
        if (text->data[i] == '\\' && i + 1 < text->size)
            i++;
        word[(*size)++] = text->data[i];
    }
    *text = lic_str_slice(*text, i, text->size);
    return true;
}

#define MAX_OPTIONS_BYTES 1024

/* "-c name=value", "-cname=value" and "--name=value", which the server takes for the same; none of its other
 * switches. */
static const char *judge_options(lic_str value)
{
    char        word[MAX_OPTIONS_BYTES];
    size_t      size;
    const char *why = judge_text(value);

    if (value.size > sizeof word)
        return "is too long";
    while (why == NULL && next_word(&value, word, &size)) {
        lic_str text = { word, size };

        if (lic_str_equal(text, LIC_STR("-c"))) {
            if (!next_word(&value, word, &size))
                return "ends with -c";
            why = judge_parameter((lic_str){ word, size });
        } else if (lic_str_starts_with(text, LIC_STR("-c")) || lic_str_starts_with(text, LIC_STR("--"))) {
            why = judge_parameter(lic_str_slice(text, 2, size));
        } else {
            why = "has something else than -c name=value";
        }
    }
    return why;
}

/* ------------------------------------------------------------ the table */

static const struct {
    lic_str     name;
    const char *variable;
    const char *(*judge)(lic_str value);
} keywords[] = {
#define KEYWORD_ROW(name, variable, is) { LICET_STR_INIT(#name), variable, judge_##is },
    LIC_PG_KEYWORD_LIST(KEYWORD_ROW)
#undef KEYWORD_ROW
};

lic_pg_keyword lic_pg_keyword_find(lic_str name)
{
    size_t i = 0;

    while (i < LIC_PG_KEYWORDS && !lic_str_equal(name, keywords[i].name))
        i++;
    return (lic_pg_keyword)i;
}

const char *lic_pg_keyword_name(lic_pg_keyword keyword)
{
    return keywords[keyword].name.data;
}

const char *lic_pg_keyword_variable(lic_pg_keyword keyword)
{
    return keywords[keyword].variable;
}

bool lic_pg_keyword_is_secret(lic_pg_keyword keyword)
{
    return keywords[keyword].judge == judge_secret;
}

const char *lic_pg_keyword_judge(lic_pg_keyword keyword, lic_str value)
{
    return keywords[keyword].judge(value);
}
