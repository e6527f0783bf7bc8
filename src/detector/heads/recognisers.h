// The rows of HeadFamilies(), and what tells each of them by: one file per family.
#pragma once

#include <vector>

#include "detector/heads/family.h"

namespace sg {

HeadFamily SetPredictionFamily();  // set_prediction.cc
HeadFamily DenseRowsFamily();      // dense_rows.cc
HeadFamily FinalBoxesFamily();     // final_boxes.cc
HeadFamily NmsSelectionsFamily();  // nms_selections.cc
HeadFamily LevelsFamily();         // levels.cc
HeadFamily AnchorGridFamily();     // anchor_grid.cc
HeadFamily CoverageGridFamily();   // coverage_grid.cc

}  // namespace sg
