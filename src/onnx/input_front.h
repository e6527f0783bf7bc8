// Lets a graph take the pictures that nvinfer gives, floats [N,3,H,W] of one scale, whatever its
// own input is. What this makes is not proven: that takes a run against the original.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace sg {

class GraphFile;

/// What stands between nvinfer's tensor and the graph's own input.
struct InputFront {
  std::vector<double> mean;    ///< (x − mean[c]) ÷ std[c]; three each, in the network's order
  std::vector<double> std;     ///< empty: nothing to normalise
  bool channels_last = false;  ///< the graph's input is [N,H,W,3]
  bool bytes = false;          ///< the graph's input is uint8: x is 0–255
  bool empty() const { return mean.empty() && !channels_last && !bytes; }
};

enum class FrontPlace {
  kNodes,    ///< nodes in front of everything
  kWeights,  ///< mean and std in the first convolution's weights: no node more
};

/// True when the picture goes straight into one convolution that pads nothing and whose weights are
/// in the file: only then do its weights hold a mean (a padded zero is not a padded mean).
bool FitsIntoWeights(const GraphFile& file, const std::string& input, const InputFront& front);

/// Puts the front into the graph; its input keeps its name and becomes float32 [N,3,H,W]. Returns
/// what was done, in words. REQUIRES: kNodes, or FitsIntoWeights. kUser when there is no such input
/// of four axes, or mean and std are not three each.
Result<std::string> PutFront(GraphFile* file, const std::string& input, const InputFront& front,
                             FrontPlace place);

}  // namespace sg
