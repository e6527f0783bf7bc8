#include "onnx/onnx_file.h"
