// The Python packages that export SafeTensors models: one venv, shared by all models, made on first
// need from a list that is locked by hash.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"

namespace sg {

/// Relative to the folder that the user works in.
inline constexpr char kExportVenv[] = "build/.venv_optimum";

/// Makes the venv unless it is there and made from the same list; waits for another process that is
/// making it. `on_note` gets a few words about what happens, now and then. Returns the venv's
/// folder, absolute. kEnvironment when Python, its venv module, the network or 8 GB of space are
/// missing; an interrupted one is made again the next time.
Result<std::string> PrepareExportVenv(const std::function<void(const std::string&)>& on_note);

}  // namespace sg
