/* Which licet this is. */
#include "licet.h"

#define VERSION_TEXT_(major, minor, patch) #major "." #minor "." #patch
#define VERSION_TEXT(major, minor, patch) VERSION_TEXT_(major, minor, patch)

const char *licet_version(void)
{
    return VERSION_TEXT(LICET_VERSION_MAJOR, LICET_VERSION_MINOR, LICET_VERSION_PATCH);
}

uint32_t licet_abi(void)
{
    return 1;
}
