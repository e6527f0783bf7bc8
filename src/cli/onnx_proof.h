// What batches an ONNX graph really takes, found by running it in the worker, and graphs rewritten
// for another batch with the same proof.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/progress.h"
#include "base/status.h"
#include "onnx/batch_trace.h"
#include "onnx/exporter.h"
#include "onnx/graph_file.h"
#include "onnx/input_front.h"
#include "onnx/onnx_file.h"
#include "onnx/rebatch.h"

namespace sg {

/// Outputs are equal when they differ by at most this × the output's largest magnitude.
inline constexpr double kOutputTolerance = 5e-4;

/// The input that takes pictures.
struct PictureInput {
  std::string name;
  std::vector<int64_t> shape;  ///< [C,H,W], or [H,W,C] when channels are last
  bool channels_last = false;
  std::optional<int64_t> batch;  ///< when it is fixed
  /// The shape as [C,H,W].
  std::vector<int64_t> ChannelsFirst() const;
};

/// The first input of four axes. kUser when there is none, kUnsupported when its height or width is
/// free.
Result<PictureInput> FindPictureInput(const OnnxSummary& summary);

struct ProofOptions {
  int max_batch = 8;          ///< the largest batch that matters
  std::string pictures_path;  ///< f32 pictures [n,C,H,W]; empty: made ones
  double tolerance = kOutputTolerance;
  /// Pictures are whole grey levels × this, as nvinfer gives them; nullopt: any numbers 0 to 1.
  std::optional<double> net_scale_factor;
  Progress::Mode progress = Progress::Mode::kOff;
};

/// What a run of one graph against another showed.
struct ProofRun {
  bool equal = false;
  bool different = false;  ///< the pictures gave different outputs, so equality means something
  std::vector<int64_t> batches;  ///< that ran or were refused
  double max_difference = 0;     ///< in the worst output's own unit
  std::string output;            ///< the worst output
  int64_t moved_rows = 0;
  std::string failure;  ///< why it is not equal, in words; empty when it is
  std::string node;     ///< the node that refused a batch; may be empty
  Json json;            ///< the worker's own result
};

struct BatchAudit {
  enum class Verdict {
    kProven,    ///< ran at every batch, each picture as on its own
    kFixed,     ///< the graph says one batch, and nothing else is claimed
    kBroken,    ///< says any batch, and does not keep it
    kUnproven,  ///< ran, but the pictures all gave the same outputs
    kNotRun     ///< only read
  };
  Verdict verdict = Verdict::kNotRun;
  std::optional<int64_t> fixed_batch;
  std::vector<BatchFinding> findings;  ///< nodes that hold the batch; empty for a proven graph
  std::optional<ProofRun> run;
  std::string reason;  ///< of kBroken, kUnproven and kNotRun, in words
};

/// Reads the graph's batch, and runs it when `run`. Reading costs a fraction of a second whatever
/// the weights' size.
Result<BatchAudit> AuditBatch(const GraphFile& file, const OnnxSummary& summary,
                              const ProofOptions& options, bool run);

/// One graph and what it is fed with.
struct ProofGraph {
  std::string path;
  std::string input;
  std::vector<int64_t> batches;  ///< the reference's one batch, or the candidate's
  std::vector<FoldedInput> further;
  /// What is done to a picture before this graph is given it.
  InputFront front = {};
};

/// Runs both and compares. Errors are those of the worker; outputs that differ are not one.
/// `picture` is [C,H,W] of both, or as both take it.
Result<ProofRun> RunProof(const ProofGraph& reference, const ProofGraph& candidate,
                          const std::vector<int64_t>& picture, const ProofOptions& options);
/// The same against what a torch model gave for the pictures of options.pictures_path.
Result<ProofRun> RunProof(const RecordedOutputs& reference, const ProofGraph& candidate,
                          const std::vector<int64_t>& picture, const ProofOptions& options);

/// 1, 2, 3, 8 and `max_batch`, as far as that goes and at most 8.
std::vector<int64_t> ProofBatches(int max_batch);

/// Copies a graph's external weights into another folder, under the names that it has for them.
Status CopyExternalData(const OnnxSummary& summary, const std::string& to_folder);

struct RebatchRequest {
  std::string from;
  std::string to;
  std::optional<int64_t> batch;  ///< fix it to this; nullopt: make it free
  ProofOptions proof;
};

struct Rebatched {
  std::vector<BatchFinding> changed;  ///< nodes that were rewritten
  std::vector<FoldedInput> folded;    ///< inputs that became constants
  ProofRun run;
};

/// Writes `to` (external weights beside it) once it is proven equal to `from`. kGate when the
/// outputs differ, naming the node that holds the batch, or prove nothing; nothing is written then.
Result<Rebatched> Rebatch(const RebatchRequest& request);

}  // namespace sg
