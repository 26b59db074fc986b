/* Snapshots as values: three ways to write one, and what one sees.
 *
 * Whatever its form, a snapshot goes through one check: settle(). A text is refused unless it is the one that we, or
 * Postgres, would write. */
#include "datastore/postgres/pg_snapshot.h"

static licet_status refuse(lic_pg_snapshot *snapshot, licet_error **error)
{
    *snapshot = (lic_pg_snapshot){ 0 };
    return lic_fail(error, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, LIC_NOWHERE, "not a snapshot of Postgres");
}

static licet_status fail_memory(lic_pg_snapshot *snapshot, licet_error **error)
{
    *snapshot = (lic_pg_snapshot){ 0 };
    return lic_fail_memory(error);
}

/* Also of no members it is an array. */
static bool new_xip(lic_arena *arena, size_t count, uint64_t **xip)
{
    *xip = lic_new_array(arena, count, uint64_t);
    return *xip != NULL;
}

static bool is_valid(const lic_pg_snapshot *s)
{
    if (s->xmin == 0 || s->xmin > s->xmax || s->xmax > LIC_PG_NEVER)
        return false;
    for (size_t i = 0; i < s->xip_count; i++) {
        if (s->xip[i] < s->xmin || s->xip[i] >= s->xmax || (i > 0 && s->xip[i] <= s->xip[i - 1]))
            return false;
    }
    return true;
}

static licet_status settle(lic_pg_snapshot *snapshot, licet_error **error)
{
    return is_valid(snapshot) ? LICET_OK : refuse(snapshot, error);
}

/* ---------------------------------------------------------------- texts */

/* Takes a decimal number off the text's beginning: no sign, no zeros in front, at most LIC_PG_NEVER. */
static bool take_number(lic_str *text, uint64_t *number)
{
    size_t size = 0;

    *number = 0;
    while (size < text->size && text->data[size] >= '0' && text->data[size] <= '9') {
        uint64_t digit = (uint64_t)(text->data[size++] - '0');

        if (*number > (LIC_PG_NEVER - digit) / 10)
            return false;
        *number = *number * 10 + digit;
    }
    if (size == 0 || (size > 1 && text->data[0] == '0'))
        return false;
    *text = lic_str_slice(*text, size, text->size);
    return true;
}

static bool take_char(lic_str *text, char c)
{
    if (text->size == 0 || text->data[0] != c)
        return false;
    *text = lic_str_slice(*text, 1, text->size);
    return true;
}

/* How many members are in the list that the text is. */
static size_t count_members(lic_str text)
{
    size_t count = text.size > 0;

    for (size_t i = 0; i < text.size; i++)
        count += text.data[i] == ',';
    return count;
}

/* is_packed: each number is a distance to the one before. Numbers are at most LIC_PG_NEVER, so that a sum of two does not
 * wrap; one that is past it is seen by is_valid(), and ends the loop here lest sums of sums do. */
static bool take_members(lic_str text, bool is_packed, lic_pg_snapshot *s)
{
    uint64_t before = is_packed ? s->xmin : 0;

    for (size_t i = 0; i < s->xip_count; i++) {
        if ((i > 0 && !take_char(&text, ',')) || !take_number(&text, &s->xip[i]))
            return false;
        s->xip[i] += before;
        if (s->xip[i] > LIC_PG_NEVER)
            return false;
        before = is_packed ? s->xip[i] : 0;
    }
    return text.size == 0;
}

static licet_status read_text(lic_arena *arena, lic_str text, bool is_packed, lic_pg_snapshot *s, licet_error **error)
{
    *s = (lic_pg_snapshot){ 0 };
    if (!take_number(&text, &s->xmin) || !take_char(&text, ':') || !take_number(&text, &s->xmax) ||
        !take_char(&text, ':'))
        return refuse(s, error);
    if (is_packed)
        s->xmax += s->xmin;
    s->xip_count = count_members(text);
    if (s->xip_count > LIC_PG_RUNNING_MAX)
        return refuse(s, error);
    if (!new_xip(arena, s->xip_count, &s->xip))
        return fail_memory(s, error);
    return take_members(text, is_packed, s) ? settle(s, error) : refuse(s, error);
}

licet_status lic_pg_snapshot_read(lic_arena *arena, lic_str text, lic_pg_snapshot *snapshot, licet_error **error)
{
    return read_text(arena, text, false, snapshot, error);
}

licet_status lic_pg_snapshot_unpack(lic_arena *arena, lic_str text, lic_pg_snapshot *snapshot, licet_error **error)
{
    return read_text(arena, text, true, snapshot, error);
}

void lic_pg_snapshot_print(const lic_pg_snapshot *snapshot, lic_text *out)
{
    lic_text_add_u64(out, snapshot->xmin);
    lic_text_add_char(out, ':');
    lic_text_add_u64(out, snapshot->xmax);
    lic_text_add_char(out, ':');
    for (size_t i = 0; i < snapshot->xip_count; i++) {
        if (i > 0)
            lic_text_add_char(out, ',');
        lic_text_add_u64(out, snapshot->xip[i]);
    }
}

/* The number and the sign behind it ('\0': none) at out[*size]; false: no room. */
static bool put(char *out, size_t room, size_t *size, uint64_t number, char sign)
{
    char   digits[21]; /* of 2^64 - 1, and the sign */
    size_t start = sizeof digits;

    if (sign != '\0')
        digits[--start] = sign;
    do {
        digits[--start] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    if (sizeof digits - start > room - *size)
        return false;
    memcpy(out + *size, digits + start, sizeof digits - start);
    *size += sizeof digits - start;
    return true;
}

size_t lic_pg_snapshot_pack(const lic_pg_snapshot *snapshot, char *out, size_t room)
{
    uint64_t before = snapshot->xmin;
    size_t   size   = 0;

    if (!put(out, room, &size, snapshot->xmin, ':') || !put(out, room, &size, snapshot->xmax - snapshot->xmin, ':'))
        return 0;
    for (size_t i = 0; i < snapshot->xip_count; i++) {
        if (!put(out, room, &size, snapshot->xip[i] - before, i + 1 < snapshot->xip_count ? ',' : '\0'))
            return 0;
        before = snapshot->xip[i];
    }
    return size;
}

/* ---------------------------------------------------------------- the wire */

static uint64_t big_endian(const char *bytes, size_t size)
{
    uint64_t number = 0;

    for (size_t i = 0; i < size; i++)
        number = number << 8 | (uint8_t)bytes[i];
    return number;
}

licet_status lic_pg_snapshot_receive(lic_arena *arena, lic_str bytes, lic_pg_snapshot *snapshot, licet_error **error)
{
    *snapshot = (lic_pg_snapshot){ 0 };
    if (bytes.size < 20 || bytes.size % 8 != 4)
        return refuse(snapshot, error);
    snapshot->xip_count = bytes.size / 8 - 2;
    if (snapshot->xip_count > LIC_PG_RUNNING_MAX || big_endian(bytes.data, 4) != snapshot->xip_count)
        return refuse(snapshot, error);
    if (!new_xip(arena, snapshot->xip_count, &snapshot->xip))
        return fail_memory(snapshot, error);
    snapshot->xmin = big_endian(bytes.data + 4, 8);
    snapshot->xmax = big_endian(bytes.data + 12, 8);
    for (size_t i = 0; i < snapshot->xip_count; i++)
        snapshot->xip[i] = big_endian(bytes.data + 20 + 8 * i, 8);
    return settle(snapshot, error);
}

/* ---------------------------------------------------------------- what is seen */

/* The first of xip that is not below xid. */
static size_t find_running(const lic_pg_snapshot *s, uint64_t xid)
{
    size_t from = 0;
    size_t to   = s->xip_count;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (s->xip[middle] < xid)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static bool is_running(const lic_pg_snapshot *s, uint64_t xid)
{
    size_t i = find_running(s, xid);

    return i < s->xip_count && s->xip[i] == xid;
}

bool lic_pg_snapshot_sees(const lic_pg_snapshot *snapshot, uint64_t xid)
{
    return xid < snapshot->xmax && !is_running(snapshot, xid);
}

/* Behind the last that it sees: xmax, less what runs directly below it. *running: how many of xip are below that. Every
 * number below xmin is seen, 0 among them, so there is a last one. */
static uint64_t end_of_seen(const lic_pg_snapshot *s, size_t *running)
{
    uint64_t end = s->xmax;

    *running = s->xip_count;
    while (*running > 0 && s->xip[*running - 1] == end - 1) {
        end--;
        --*running;
    }
    return end;
}

/* Let e be behind the last that b sees. a must see e - 1, so xmax(a) >= e. And what runs for a below e is not seen by a,
 * so b must not see it: it is in xip(b). Together they suffice: what b sees is below e <= xmax(a), and were it in xip(a)
 * it would be in xip(b), and not seen. */
bool lic_pg_snapshot_dominates(const lic_pg_snapshot *a, const lic_pg_snapshot *b)
{
    size_t   count;
    uint64_t end = end_of_seen(b, &count);
    size_t   j   = 0;

    if (a->xmax < end)
        return false;
    for (size_t i = 0; i < a->xip_count && a->xip[i] < end; i++) {
        while (j < count && b->xip[j] < a->xip[i])
            j++;
        if (j == count || b->xip[j] != a->xip[i])
            return false;
    }
    return true;
}

bool lic_pg_snapshot_equal(const lic_pg_snapshot *a, const lic_pg_snapshot *b)
{
    size_t a_count;
    size_t b_count;

    return end_of_seen(a, &a_count) == end_of_seen(b, &b_count) && a_count == b_count &&
           (a_count == 0 || memcmp(a->xip, b->xip, a_count * sizeof *a->xip) == 0);
}

/* ---------------------------------------------------------------- new ones */

/* An array for `count`, which begins with what s has. */
static bool copy_xip(lic_arena *arena, const lic_pg_snapshot *s, size_t count, uint64_t **xip)
{
    if (!new_xip(arena, count, xip))
        return false;
    if (s->xip_count > 0)
        memcpy(*xip, s->xip, s->xip_count * sizeof **xip);
    return true;
}

bool lic_pg_snapshot_copy(lic_arena *arena, const lic_pg_snapshot *snapshot, lic_pg_snapshot *copy)
{
    uint64_t *xip;

    if (!copy_xip(arena, snapshot, snapshot->xip_count, &xip))
        return false;
    *copy     = *snapshot;
    copy->xip = xip;
    return true;
}

/* A primary's xmin is the lowest that runs, its own transaction's among them, which is in no xip. */
static void find_xmin(lic_pg_snapshot *s)
{
    s->xmin = s->xip_count > 0 ? s->xip[0] : s->xmax;
}

static licet_status without(lic_arena *arena, lic_pg_snapshot *s, size_t index, licet_error **error)
{
    size_t    count = s->xip_count - 1;
    uint64_t *xip;

    if (!new_xip(arena, count, &xip))
        return lic_fail_memory(error);
    for (size_t i = 0; i < count; i++)
        xip[i] = s->xip[i + (i >= index)];
    s->xip       = xip;
    s->xip_count = count;
    return LICET_OK;
}

/* xid >= xmax. */
static licet_status extend_to(lic_arena *arena, lic_pg_snapshot *s, uint64_t xid, licet_error **error)
{
    const uint64_t gap = xid - s->xmax;
    uint64_t      *xip;

    if (gap > LIC_PG_RUNNING_MAX - s->xip_count)
        return lic_fail(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, LIC_NOWHERE,
                        "more than %zu transactions began between the snapshot and the write", LIC_PG_RUNNING_MAX);
    if (!copy_xip(arena, s, s->xip_count + (size_t)gap, &xip))
        return lic_fail_memory(error);
    for (size_t i = 0; i < gap; i++)
        xip[s->xip_count + i] = s->xmax + i;
    s->xip = xip;
    s->xip_count += (size_t)gap;
    s->xmax = xid + 1;
    return LICET_OK;
}

licet_status lic_pg_snapshot_complete(lic_arena *arena, lic_pg_snapshot *snapshot, uint64_t xid, licet_error **error)
{
    size_t       index  = find_running(snapshot, xid);
    licet_status status = LICET_OK;

    if (xid == 0 || xid >= LIC_PG_NEVER)
        return lic_fail(error, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, LIC_NOWHERE, "not a transaction of Postgres");
    if (xid >= snapshot->xmax)
        status = extend_to(arena, snapshot, xid, error);
    else if (index < snapshot->xip_count && snapshot->xip[index] == xid)
        status = without(arena, snapshot, index, error);
    if (status == LICET_OK)
        find_xmin(snapshot);
    return status;
}
