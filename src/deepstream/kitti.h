// The detection files that deepstream-app (gie-kitti-output-dir) and sgkitti write: one text file a
// frame, named {app}_{source}_{frame}.txt, one box a line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "detector/decoder.h"

namespace sg {

/// One line. Coordinates are pixels of the mux's space.
struct KittiBox {
  std::string label;  ///< may hold spaces
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
  double score = 0;
};

/// A line's box. kUser when it has fewer than 16 fields or a number is none; fields are counted
/// from the right, since labels may hold spaces.
Result<KittiBox> ParseKittiLine(const std::string& line);

/// The files of one source.
struct KittiFrames {
  std::map<uint64_t, std::vector<KittiBox>> by_frame;

  uint64_t FramesWithBoxes() const;
  /// Boxes by label, most frequent first.
  std::vector<std::pair<std::string, uint64_t>> CountLabels() const;
};

/// Reads every {app}_{source}_{frame}.txt of `source` in the folder; other names are passed over.
Result<KittiFrames> ReadKittiFolder(const std::string& folder, int source);

/// Per frame, the boxes as detector values; labels that are not in `labels` get class id −1.
std::vector<std::vector<Box>> ToBoxes(const KittiFrames& frames,
                                      const std::vector<std::string>& labels);

/// The import's gate: some frames, and at least 90 % of them with a detection. kGate with the
/// figures otherwise.
Status CheckKittiGate(const KittiFrames& frames);
inline constexpr double kKittiGateRate = 0.9;

}  // namespace sg
