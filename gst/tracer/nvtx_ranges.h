// An NVTX range for each element call, for tools that listen (nsys, our collector). Without one, or
// when NVTX's headers were not there at build time, nothing happens.
#pragma once

#include <cstdint>
#include <string>

namespace sg::trace::nvtx {

/// What a range of one element is called. Both belong to the tool and are never given back.
struct RangeName {
  void* domain = nullptr;  ///< nullptr: no range
  void* name = nullptr;
};

enum Category : uint32_t {
  kCall = 1,  ///< the element's own function runs
  kLoop = 2,  ///< inferred: its thread is between two pushes
};

/// Whether a tool listens; asks once.
bool Listens();
/// The domain has the pipeline's name, the range the element's. Any thread.
RangeName NameOf(const std::string& pipeline, const std::string& element);
void Push(const RangeName& name, Category category, uint64_t payload);
void Pop(const RangeName& name);

}  // namespace sg::trace::nvtx
