// Environment variables and what follows from them.
#pragma once

#include <initializer_list>
#include <string>

namespace sg {

/// The variable's value; empty when it is not set.
std::string Environment(const char* name);

/// The value of the first of them that is set and not empty; empty when none is.
std::string FirstEnvironment(std::initializer_list<const char*> names);

/// Where this user's files that can be made again are kept: XDG_CACHE_HOME/streamgauge, else
/// ~/.cache/streamgauge. Not made here.
std::string UserCacheFolder();

}  // namespace sg
