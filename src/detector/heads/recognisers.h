// The rows of HeadFamilies(), and what tells each of them by: one file per family.
#pragma once

#include <vector>

#include "detector/heads/family.h"

namespace sg {

HeadFamily SetPredictionFamily();  // set_prediction.cc
HeadFamily DenseRowsFamily();      // dense_rows.cc

}  // namespace sg
