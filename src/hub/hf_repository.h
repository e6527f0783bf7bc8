// A model on the Hugging Face hub, or on a server that speaks its API (HF_ENDPOINT).
#pragma once

#include <memory>

#include "base/status.h"
#include "hub/hf_cache.h"
#include "hub/repository.h"

namespace sg {

/// Looks the revision up, pins its commit and lists its files; with HF_HUB_OFFLINE, or while the
/// hub cannot be reached, from what the cache has of it. Errors: kUser for a model, revision or
/// file that does not exist, or that this user may not read (a gated one names the page to accept);
/// kEnvironment when the hub cannot be reached and nothing is cached.
Result<std::unique_ptr<Repository>> OpenHfRepository(const ModelSource& source,
                                                     const HfEnvironment& environment,
                                                     const HubOptions& options);

}  // namespace sg
