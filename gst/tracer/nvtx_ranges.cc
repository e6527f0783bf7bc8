#include "gst/tracer/nvtx_ranges.h"

#ifdef SG_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>

#include <map>
#include <mutex>

namespace sg::trace::nvtx {
namespace {

nvtxDomainHandle_t Domain(void* handle) { return static_cast<nvtxDomainHandle_t>(handle); }

}  // namespace

bool Listens() {
  // A tool gives a handle; without one the header's empty functions give null.
  static const bool listens = nvtxDomainCreateA("streamgauge") != nullptr;
  return listens;
}

RangeName NameOf(const std::string& pipeline, const std::string& element) {
  if (!Listens()) return {};
  static std::mutex mutex;
  static auto* domains = new std::map<std::string, nvtxDomainHandle_t>;
  const std::lock_guard lock(mutex);
  nvtxDomainHandle_t& domain = (*domains)[pipeline];
  if (domain == nullptr) domain = nvtxDomainCreateA(pipeline.c_str());
  if (domain == nullptr) return {};
  return {domain, nvtxDomainRegisterStringA(domain, element.c_str())};
}

void Push(const RangeName& name, Category category, uint64_t payload) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.category = category;
  attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  attributes.payload.ullValue = payload;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = static_cast<nvtxStringHandle_t>(name.name);
  nvtxDomainRangePushEx(Domain(name.domain), &attributes);
}

void Pop(const RangeName& name) { nvtxDomainRangePop(Domain(name.domain)); }

}  // namespace sg::trace::nvtx

#else

namespace sg::trace::nvtx {

bool Listens() { return false; }
RangeName NameOf(const std::string&, const std::string&) { return {}; }
void Push(const RangeName&, Category, uint64_t) {}
void Pop(const RangeName&) {}

}  // namespace sg::trace::nvtx
#endif
