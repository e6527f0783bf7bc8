// KITTI files as deepstream-app's gie-kitti-output-dir writes them, without GStreamer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace sg {

/// One box in the coordinate space of the batch.
struct KittiBox {
  std::string label;
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
  double confidence = 0;
};

/// "AA_SSS_NNNNNN.txt": application, source and frame number.
std::string KittiFileName(unsigned app_index, unsigned source_id, uint64_t frame_number);

/// One line per box: `label 0.0 0 0.0 left top right bottom`, seven `0.0`, confidence; numbers with
/// six decimals, whatever the locale. White space in a label becomes "_", since a line's fields are
/// parted by it. No boxes: "".
std::string KittiText(const std::vector<KittiBox>& boxes);

/// Writes `text` to folder/name, replacing a file of that name. kEnvironment when that fails; the
/// message names the file.
Status WriteKittiFile(const std::string& folder, const std::string& name, const std::string& text);

}  // namespace sg
