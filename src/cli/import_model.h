// Steps 1–3 of an import: the model is found, its graph is checked, its facts are read, and what
// the later steps need of it is copied. They cost little and give the hashes that the later steps
// depend on, so they run every time.
#pragma once

#include <string>
#include <vector>

#include "cli/import_context.h"
#include "cli/import_graph.h"

namespace sg {

/// Step 1: the files.
struct FoundModel {
  ModelSnapshot snapshot;
  ModelFiles files;
  std::string name;                ///< models/NAME, where the export needed it already; else empty
  std::vector<std::string> notes;  ///< of the export, for the report
  double seconds = 0;
};
Result<FoundModel> FindModel(const ImportOptions& options, const Console& console);

/// Step 2: the graph, whole and runnable at the batches asked for.
struct CheckedModel {
  FoundModel found;
  CheckedGraph graph;
  OnnxSummary onnx;    ///< the graph's
  double seconds = 0;  ///< of steps 1 and 2
};
Result<CheckedModel> CheckModel(const ImportOptions& options, const Console& console,
                                FoundModel found);

/// Step 3: labels, preprocessing, head, thresholds. Preprocessing that nvinfer has no setting for
/// is put into the graph (import_front.h).
Result<AcquiredModel> DescribeModel(const ImportOptions& options, const Console& console,
                                    const CheckedModel& checked);

/// Takes models/NAME and copies the ONNX (with its external data), the config files and the labels
/// into it; files that are there already with the same bytes stay. Ends step 3.
Status PlaceModel(ImportContext* context, AcquiredModel* model);

/// Writes the card's label file into the model's folder.
Status PlaceLabels(const ImportContext& context, const ModelCard& card);

}  // namespace sg
