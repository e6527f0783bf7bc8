// What a file's own first bytes and outline tell before anything tries to decode it.
#pragma once

#include <string>

#include "base/status.h"

namespace sg {

/// kUser, with what the file is instead, when it is missing, a folder, not a regular file, empty,
/// a web page, a text, or a cut-off MP4 or AVI file. Reads a few kilobytes.
Status CheckVideoFile(const std::string& path);

/// "is a web page", "is a text file" or empty, from a file's first bytes.
std::string TextComplaint(const std::string& first_bytes);

}  // namespace sg
