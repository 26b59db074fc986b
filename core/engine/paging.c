#include "engine/paging.h"

licet_status lic_paging_limit_check(uint32_t limit, licet_error **error)
{
    if (limit <= LIC_MAX_PAGE)
        return LICET_OK;
    return lic_fail_reason(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "EXCEEDS_MAXIMUM_ALLOWABLE_LIMIT",
                           LIC_NOWHERE, "limit: expected at most %d, not %u", LIC_MAX_PAGE, (unsigned)limit);
}

void lic_paging_bind(lic_text *bound, lic_str field)
{
    lic_text_add_char(bound, lic_str_given(field) ? '+' : '-');
    lic_text_add_u64(bound, field.size);
    lic_text_add_char(bound, ':');
    lic_text_add(bound, field);
}

void lic_paging_bind_rest(lic_text *bound, const licet_consistency *consistency, uint32_t limit)
{
    lic_paging_bind(bound, consistency->token);
    lic_text_add_u64(bound, (uint64_t)consistency->freshness);
    lic_text_add_char(bound, ',');
    lic_text_add_u64(bound, limit);
    lic_text_add_char(bound, ',');
}

static licet_status go_on(lic_paging *paging, const licet_engine *engine, const lic_need *need, lic_str cursor,
                          const uint8_t digest[LIC_DIGEST_BYTES], lic_snapshot *snapshot, licet_error **error)
{
    licet_status status = lic_cursor_read(&engine->identity, cursor, &paging->place, error);

    if (status != LICET_OK)
        return status;
    if (memcmp(paging->place.digest, digest, LIC_DIGEST_BYTES) != 0)
        return lic_fail_reason(error, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, "INVALID_CURSOR", LIC_NOWHERE,
                               "the cursor belongs to another request");
    paging->has_place = true;
    return lic_engine_pin_at(engine, paging->place.revision, need, snapshot, error);
}

licet_status lic_paging_pin(lic_paging *paging, const licet_engine *engine, const licet_consistency *consistency,
                            const lic_need *need, lic_str cursor, lic_text *bound, lic_snapshot *snapshot,
                            licet_error **error)
{
    const bool   failed = bound->failed;
    uint8_t      digest[LIC_DIGEST_BYTES];
    licet_status status;

    if (!failed)
        lic_digest(&engine->identity, lic_text_str(bound), digest);
    lic_text_free(bound);
    if (failed)
        return lic_fail_memory(error);
    if (lic_str_given(cursor))
        return go_on(paging, engine, need, cursor, digest, snapshot, error);
    status = lic_engine_pin(engine, consistency, need, snapshot, error);
    if (status != LICET_OK)
        return status;
    memcpy(paging->place.digest, digest, sizeof digest);
    paging->place.revision = snapshot->revision;
    return LICET_OK;
}

licet_str lic_paging_cursor(lic_paging *paging, const licet_engine *engine)
{
    if (!paging->has_place)
        return (licet_str){ NULL, 0 };
    return (licet_str){ paging->text, lic_cursor_make(&engine->identity, &paging->place, paging->text) };
}
