/* All engines of the process, for fork(): the only state that is not some engine's own. */
#ifndef LIC_ENGINE_REGISTRY_H
#define LIC_ENGINE_REGISTRY_H

#include "licet.h"

/* false: the handlers of fork could not be installed for want of memory. */
bool lic_registry_add(licet_engine *engine);
void lic_registry_remove(licet_engine *engine); /* one that was not added is fine */

#endif
