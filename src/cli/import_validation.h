// Step 6 of an import: parser, configs, one stream with boxes, and the check that there are boxes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/import_context.h"
#include "cli/import_engine.h"
#include "detector/box_compare.h"
#include "detector/cluster.h"
#include "detector/parser_source.h"
#include "pipeline/launch.h"

namespace sg {

struct ValidatedModel {
  ModelCard card;              ///< cluster_mode decided
  std::string parser_library;  ///< relative to the model's folder
  std::string parser_function;
  DuplicateRate duplicates;
  std::string video_mode;  ///< "nvv4l2h264enc", "theoraenc-fallback", "skipped"
  std::string video;       ///< relative; empty when skipped
  std::vector<std::string> frames;
  uint64_t kitti_frames = 0;
  uint64_t kitti_frames_with_boxes = 0;
  bool kitti_passed = false;
  std::vector<std::pair<std::string, uint64_t>> labels_found;  ///< most frequent first
  BoxDifference deviation;  ///< of the engine's half type from f32; frames 0: it is f32 itself
  double seconds = 0;
  bool reused = false;
};

/// Step 6. kGate when fewer than 90 % of the looked-at frames have a detection, unless the clip is
/// a synthetic one.
Result<ValidatedModel> ValidateModel(ImportContext* context, const AcquiredModel& model,
                                     const TimedEngine& engine);

/// The card's parser, generated, compiled and proven, in the model's folder.
Result<ParserNames> MakeProvenParser(const ImportContext& context, const ModelCard& card);

/// A card on an engine of its own.
struct BoxesRequest {
  const ModelCard& card;
  const ParserNames& parser;
  std::string engine_path;
  std::string folder;  ///< for its config and boxes, relative to the model's; it is made
};
/// The boxes of the clip's first gate_frames frames through the whole pipeline.
Result<std::vector<std::vector<Box>>> BoxesOf(const ImportContext& context,
                                              const BoxesRequest& request);

/// What a launch plan of this import starts from: the clip `streams` times, the mux, the config.
LaunchPlan MakeLaunchPlan(const ImportContext& context, int streams,
                          const std::string& infer_config);

}  // namespace sg
