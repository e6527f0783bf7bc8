#include "detector/model_card.h"

namespace sg {

const char* HeadKindName(HeadKind kind) {
  switch (kind) {
    case HeadKind::kDetrSigmoid:
      return "DETR with sigmoid scores";
  }
  return "unknown";
}

}  // namespace sg
