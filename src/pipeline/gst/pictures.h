// Picture files as numbers, for running a network on them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace sg {

struct PicturesRequest {
  std::vector<std::string> files;  ///< anything GStreamer decodes; the first picture of each
  int64_t width = 0;
  int64_t height = 0;
  /// Per channel, taken from and divided by after 0–255 became 0–1.
  std::array<float, 3> mean = {0, 0, 0};
  std::array<float, 3> deviation = {1, 1, 1};
};

/// Every file stretched to the size: f32, RGB planes, 0 to 1 (normalised where the request says
/// so), one picture behind the other, written to `path`. kUser, naming the file, when one holds no
/// picture.
Status WritePictures(const PicturesRequest& request, const std::string& path);

}  // namespace sg
