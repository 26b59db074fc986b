/* A chain: the digest of what came before is the key for the next. */
#include "datastore/progress.h"

#include "base/hash.h"
#include "datastore/relationship.h"

/* NUL is in none of them. */
static void add_field(lic_text *text, lic_str field)
{
    lic_text_add(text, field);
    lic_text_add_char(text, '\0');
}

bool lic_progress_add(lic_progress *progress, const licet_relationship *relationship, const lic_attribute *attribute,
                      lic_text *scratch)
{
    uint8_t key[LIC_PROGRESS_BYTES];
    bool    done;

    add_field(scratch, relationship->resource_type);
    add_field(scratch, relationship->resource_id);
    add_field(scratch, relationship->relation);
    add_field(scratch, relationship->subject_type);
    add_field(scratch, relationship->subject_id);
    add_field(scratch, lic_subject_relation(relationship));
    add_field(scratch, relationship->caveat_name);
    add_field(scratch, attribute->context);
    lic_text_add_u64(scratch, (uint64_t)attribute->expires_at_s);
    lic_text_add_char(scratch, '.');
    lic_text_add_u64(scratch, attribute->expires_at_ns);
    done = !scratch->failed;
    if (done) {
        memcpy(key, progress->digest, sizeof key);
        lic_seal(key, lic_text_str(scratch), progress->digest);
        progress->count++;
    }
    scratch->size = 0;
    return done;
}

bool lic_progress_equal(const lic_progress *a, const lic_progress *b)
{
    return a->count == b->count && memcmp(a->digest, b->digest, sizeof a->digest) == 0;
}
