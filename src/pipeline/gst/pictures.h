// Picture files as numbers, for running a network on them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace sg {

struct PicturesRequest {
  std::vector<std::string> files;  ///< anything GStreamer decodes; the first picture of each
  int64_t width = 0;
  int64_t height = 0;
};

/// Every file stretched to the size: f32, RGB planes, 0 to 1, one picture behind the other, written
/// to `path`. kUser, naming the file, when one holds no picture.
Status WritePictures(const PicturesRequest& request, const std::string& path);

}  // namespace sg
