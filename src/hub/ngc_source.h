// URLs of NVIDIA NGC, understood.
#pragma once

#include <optional>
#include <string>

#include "hub/source.h"
#include "hub/url.h"

namespace sg {

/// Where NGC's API is: NGC_CLI_API_URL (as for the ngc CLI) or NGC_ENDPOINT, else NVIDIA's. Without
/// a slash at its end.
std::string NgcEndpoint();

/// True for the sites whose pages show NGC's models.
bool IsNgcCatalog(const Url& url);

/// The model that a URL of the catalog or of the API names; `revision` is empty when it names no
/// version. Nothing when it is no such URL.
std::optional<ModelSource> ParseNgcUrl(const Url& url);

}  // namespace sg
