/* Fields of binary results. The server is believed nothing: not the count of rows, not a type, not a size. */
#include <endian.h>
#include <limits.h>

#include "base/utf8.h"
#include "datastore/postgres/link.h"

/* Of pg_type, for ever the same. */
enum { OID_BOOL = 16, OID_INT8 = 20, OID_INT4 = 23, OID_TIMESTAMPTZ = 1184, OID_XID8 = 5069 };
enum { OID_NAME = 19, OID_TEXT = 25, OID_JSON = 114, OID_VARCHAR = 1043 };

/* Microseconds from 1970 to 2000, where Postgres counts from. */
#define EPOCH_US INT64_C(946684800000000)

/* NULL: there is none, or it is null. */
static const char *field_of(const PGresult *result, int row, int column)
{
    if (row < 0 || row >= PQntuples(result) || column < 0 || column >= PQnfields(result))
        return NULL;
    if (PQfformat(result, column) != 1 || PQgetisnull(result, row, column))
        return NULL;
    return PQgetvalue(result, row, column);
}

bool lic_pg_get_bytes(const PGresult *result, int row, int column, lic_str *bytes)
{
    const char *data = field_of(result, row, column);
    int         size;

    if (data == NULL)
        return false;
    size   = PQgetlength(result, row, column);
    *bytes = (lic_str){ data, size < 0 ? 0 : (size_t)size };
    return size >= 0;
}

bool lic_pg_get_text(const PGresult *result, int row, int column, lic_str *text)
{
    lic_str bytes;

    if (!lic_pg_get_bytes(result, row, column, &bytes))
        return false;
    switch (PQftype(result, column)) {
    case OID_NAME:
    case OID_TEXT:
    case OID_JSON:
    case OID_VARCHAR:
        *text = bytes;
        return lic_utf8_check(bytes) == bytes.size && memchr(bytes.data, '\0', bytes.size) == NULL;
    default:
        return false;
    }
}

/* Exactly so many bytes of this type. */
static bool get_number(const PGresult *result, int row, int column, Oid type, void *number, size_t size)
{
    lic_str bytes;

    if (!lic_pg_get_bytes(result, row, column, &bytes) || PQftype(result, column) != type || bytes.size != size)
        return false;
    memcpy(number, bytes.data, size);
    return true;
}

static bool get_64(const PGresult *result, int row, int column, Oid type, int64_t *number)
{
    uint64_t wire;

    if (!get_number(result, row, column, type, &wire, sizeof wire))
        return false;
    *number = (int64_t)be64toh(wire);
    return true;
}

bool lic_pg_get_i64(const PGresult *result, int row, int column, int64_t *number)
{
    return get_64(result, row, column, OID_INT8, number) || get_64(result, row, column, OID_XID8, number);
}

bool lic_pg_get_i32(const PGresult *result, int row, int column, int32_t *number)
{
    uint32_t wire;

    if (!get_number(result, row, column, OID_INT4, &wire, sizeof wire))
        return false;
    *number = (int32_t)be32toh(wire);
    return true;
}

bool lic_pg_get_bool(const PGresult *result, int row, int column, bool *value)
{
    uint8_t wire;

    if (!get_number(result, row, column, OID_BOOL, &wire, sizeof wire) || wire > 1)
        return false;
    *value = wire == 1;
    return true;
}

/* Infinity, either one, does not fit: the smallest and the largest number stand for them. */
bool lic_pg_get_time_us(const PGresult *result, int row, int column, int64_t *time_us)
{
    int64_t since_2000;

    if (!get_64(result, row, column, OID_TIMESTAMPTZ, &since_2000) || since_2000 == INT64_MIN)
        return false;
    return !__builtin_add_overflow(since_2000, EPOCH_US, time_us);
}
