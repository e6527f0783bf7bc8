// The demo model's engine and pictures that it finds something in, for the tests of sginfer.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/files.h"
#include "engine/openvino/engine_file.h"

namespace sg {

inline constexpr int kTestMaxBatch = 4;

inline std::string TestOnnx() {
  return std::string(SG_SOURCE_DIR) + "/assets/pedestrian-rtdetr/onnx/model.onnx";
}

/// An fp32 engine of the demo model for batches 1 and 4. It is kept in the build folder, since
/// every test case is a process of its own; a lock lets only one of them build it.
inline std::string TestEngine() {
  static std::string path;
  if (!path.empty()) return path;
  const std::string folder = std::string(SG_BINARY_DIR) + "/test-engines";
  EXPECT_TRUE(MakeFolders(folder).ok());
  const int lock = open((folder + "/lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  EXPECT_EQ(flock(lock, LOCK_EX), 0);
  EngineRequest request;
  request.onnx_path = TestOnnx();
  request.engines_folder = folder;
  request.model_file_stem = "pedestrian";
  request.max_batch = kTestMaxBatch;
  request.precision = Precision::kFp32;
  request.net_scale_factor = 1.0 / 255;
  const auto built = openvino::BuildEngineFile(request, nullptr);
  close(lock);
  EXPECT_TRUE(built.ok()) << built.error().message;
  if (built.ok()) path = built->path;
  return path;
}

/// An nvinfer config for it, with a threshold at which drawn people are found. `more` goes into
/// [property].
inline std::string WriteTestConfig(const std::string& folder, const std::string& engine,
                                   const std::string& more = "") {
  const std::string path = folder + "/config_infer.txt";
  const std::string labels = folder + "/labels.txt";
  EXPECT_TRUE(WriteFileAtomic(labels, "person\n").ok());
  const std::string text = "[property]\nnet-scale-factor=" + std::string("0.00392156862745098") +
                           "\nonnx-file=" + TestOnnx() + "\nmodel-engine-file=" + engine +
                           "\nlabelfile-path=" + labels +
                           "\nbatch-size=4\nnetwork-type=0\nprocess-mode=1\n"
                           "num-detected-classes=1\ncluster-mode=2\ngie-unique-id=1\n"
                           "infer-dims=3;320;320\n" +
                           more +
                           "\n[class-attrs-all]\npre-cluster-threshold=0.05\n"
                           "nms-iou-threshold=0.7\ntopk=50\n";
  EXPECT_TRUE(WriteFileAtomic(path, text).ok());
  return path;
}

/// A light square with people drawn on it: heads and bodies, dark. `seed` moves them.
struct DrawnScene {
  static constexpr int kBackground = 170;

  /// The grey level at (x, y), both in 0–1.
  static int Level(int seed, double x, double y) {
    for (int person = 0; person < 3; ++person) {
      const double centre_x = 0.2 + 0.3 * person + 0.03 * ((seed * 7 + person * 5) % 5);
      const double top = 0.3 + 0.05 * ((seed * 3 + person) % 6);
      const double from_head = std::hypot((x - centre_x) / 0.012, (y - top) / 0.02);
      const double from_body = std::hypot((x - centre_x) / 0.022, (y - top - 0.07) / 0.055);
      const double from_legs = std::hypot((x - centre_x) / 0.016, (y - top - 0.15) / 0.06);
      if (from_head < 1) return 120;
      if (from_body < 1) return 40 + 20 * person;
      if (from_legs < 1) return 30;
    }
    return kBackground - static_cast<int>(30 * y);
  }
};

}  // namespace sg
