// What the recognisers look for among a graph's outputs.
#pragma once

#include <string>
#include <vector>

#include "detector/head_recognition.h"

namespace sg {

bool IsFloatTensor(const OnnxTensor& tensor);
/// Of the axes after the batch; -1 for one that is free. Axes of 1 directly after the batch stay.
std::vector<int> DimsOf(const OnnxTensor& tensor);
/// The output with its element type; `dims` in place of the graph's own.
HeadOutput OutputOf(OutputRole role, const OnnxTensor& tensor, std::vector<int> dims);

/// One grid of cells for each stride, anchors apart.
std::vector<HeadLevel> GridsOf(const HeadQuestion& question, const std::vector<int>& strides);
/// How many cells the grids have together.
int CellsOf(const std::vector<HeadLevel>& levels);
/// The strides (8,16,32 and what other families use) whose grids have `points` cells, `anchors`
/// times; empty when none have.
std::vector<int> StridesOfPoints(const HeadQuestion& question, int points, int anchors);

/// What an Ultralytics export says of itself in the metadata.
void AddUltralyticsFacts(const HeadQuestion& question, int classes, HeadCandidate* candidate);

/// Class scores [rows, columns] and boxes [rows, 4] of the same rows.
struct OutputPair {
  const OnnxTensor* scores = nullptr;  ///< nullptr: there is no such pair
  const OnnxTensor* boxes = nullptr;
  int rows = 0;
  int columns = 0;       ///< of the scores; 0 when the graph leaves it free
  bool named = false;    ///< both have names that are asked for
  bool is_grid = false;  ///< as many rows as a detector's grids have cells
};
OutputPair FindScoresAndBoxes(const HeadQuestion& question,
                              const std::vector<std::string>& score_names,
                              const std::vector<std::string>& box_names);

}  // namespace sg
