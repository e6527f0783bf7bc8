// What the steps of an import share: the options, the model's folder, the journal, and the key that
// tells whether a step's inputs are those of the last time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/journal.h"
#include "base/json.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/model_export.h"
#include "cli/scratch_folder.h"
#include "detector/model_card.h"
#include "detector/model_files.h"
#include "engine/engine.h"
#include "hub/repository.h"
#include "onnx/onnx_file.h"
#include "pipeline/run_job.h"

namespace sg {

struct ImportOptions {
  CommonFlags common;
  std::string source;       ///< as hub/source.h understands it
  std::string revision;     ///< of a Hugging Face model
  std::string variant;      ///< of its ONNX files
  ExportOptions exporting;  ///< of a model that has SafeTensors and no ONNX
  std::string out = "models";
  std::string name;  ///< empty: from the source
  std::string video;
  bool synthetic_video = false;
  bool check_preprocessing = false;  ///< only that: nothing is imported
  std::string precision = "fp16";
  std::string calibration;  ///< table for int8; must name the model's SHA-256
  std::string labels;
  std::string head;                  ///< a head's name; empty: recognised
  std::vector<std::string> classes;  ///< labels or numbers to detect; empty: all
  std::optional<double> score_threshold;
  std::optional<double> nms_iou;
  double target_fps = 30;
  int max_batch = 64;     ///< MAX is never doubled beyond this
  int gate_frames = 100;  ///< frames that the KITTI gate looks at
  double measure_s = 60;  ///< of each benchmark run
  double warmup_s = 5;
  double timing_s = 10;  ///< of each engine timing
};

/// models/NAME and the names in it. Relative ones are relative to the folder itself.
class ModelFolder {
 public:
  ModelFolder() = default;
  ModelFolder(std::string root, std::string name)
      : root_(std::move(root)), name_(std::move(name)) {}

  const std::string& root() const { return root_; }
  const std::string& name() const { return name_; }
  std::string Path(const std::string& relative) const { return root_ + "/" + relative; }

  std::string OnnxFile() const { return "model/" + name_ + ".onnx"; }
  std::string InferConfig() const { return "config/config_infer_primary_" + name_ + ".txt"; }
  std::string AppConfig() const { return "config/deepstream_app_config_" + name_ + ".txt"; }
  std::string BenchmarkInferConfig() const {
    return "benchmarks/ds/config_infer_ds_" + name_ + ".txt";
  }
  std::string LabelFile() const { return "config/labels.txt"; }
  /// Files that an interrupted step may leave half done; gone at the end of the step.
  std::string Staging() const { return ".staging"; }

 private:
  std::string root_;
  std::string name_;
};

/// Steps 1–3: the model, checked and copied.
struct AcquiredModel {
  ModelCard card;
  OnnxSummary onnx;
  ModelFiles files;                        ///< where they are
  ModelSnapshot snapshot;                  ///< where they came from
  std::vector<std::string> notes;          ///< for the report
  double described_s = 0;                  ///< of step 3, before the copies
  double seconds = 0;                      ///< of steps 1–3
  std::shared_ptr<ScratchFolder> scratch;  ///< holds the ONNX when it was rewritten
};

class ImportContext {
 public:
  ImportContext(const ImportOptions& import_options, const Console& import_console)
      : options(import_options), console(import_console) {}
  ~ImportContext();
  ImportContext(const ImportContext&) = delete;
  ImportContext& operator=(const ImportContext&) = delete;

  /// Takes models/NAME for this process, makes its folders, opens its journal.
  Status OpenFolder(const std::string& name);

  struct StepOutput {
    Json values;
    std::vector<std::string> files;  ///< relative to the model's folder
  };
  struct StepResult {
    Json values;
    double seconds = 0;   ///< when it ran
    bool reused = false;  ///< it was done by an earlier call
  };
  /// Runs a step, unless an earlier call did it with the same `inputs` after the same steps; says
  /// how long it took. A step that runs again with another outcome makes those after it run again.
  /// `name` is what stands in "[Step NAME] completed in …".
  Result<StepResult> RunStep(const std::string& name, const Json& inputs,
                             const std::function<Result<StepOutput>()>& run);

  /// A progress function for a step's part that prints under `title`.
  ProgressFn ProgressLine(const std::string& title) const;

  const ImportOptions& options;
  const Console& console;
  ModelFolder folder;
  VideoInfo video;
  std::string video_sha256;
  std::unique_ptr<Engine> engine;

 private:
  int lock_ = -1;
  std::optional<Journal> journal_;
  std::string key_;  ///< of the last step: the next step's key includes it
};

/// Says "[Step N] completed in X.XXs" for a step that is not journalled.
void SayStepDone(const Console& console, const std::string& name, double seconds, bool reused);

}  // namespace sg
