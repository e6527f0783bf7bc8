// NVTX calls this library when NVTX_INJECTION64_PATH names it: InitializeInjectionNvtx2 puts our
// functions into the tables that NVTX's macros call through. Each library with its own copy of the
// headers asks anew.
#include <nvtx3/nvToolsExt.h>

#include <string>
#include <vector>

#include "trace/collector/collector.h"

namespace sg::trace::collector {
namespace {

/// Handles are numbers: of a name, or of a domain.
uint32_t IdOf(const void* handle) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(handle));
}
template <typename Handle>
Handle HandleOf(uint32_t id) {
  return reinterpret_cast<Handle>(uintptr_t{id});
}

/// UTF-8 of a wide text. What is no character becomes U+FFFD.
std::string Narrow(const wchar_t* text) {
  std::string narrow;
  for (; text != nullptr && *text != 0; ++text) {
    auto c = static_cast<uint32_t>(*text);
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = 0xfffd;
    if (c < 0x80) {
      narrow += static_cast<char>(c);
    } else if (c < 0x800) {
      narrow += static_cast<char>(0xc0 | c >> 6);
      narrow += static_cast<char>(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
      narrow += static_cast<char>(0xe0 | c >> 12);
      narrow += static_cast<char>(0x80 | (c >> 6 & 0x3f));
      narrow += static_cast<char>(0x80 | (c & 0x3f));
    } else {
      narrow += static_cast<char>(0xf0 | c >> 18);
      narrow += static_cast<char>(0x80 | (c >> 12 & 0x3f));
      narrow += static_cast<char>(0x80 | (c >> 6 & 0x3f));
      narrow += static_cast<char>(0x80 | (c & 0x3f));
    }
  }
  return narrow;
}

uint32_t IdOfText(const char* text) { return NameId(text == nullptr ? "" : text); }
uint32_t IdOfText(const wchar_t* text) { return NameId(Narrow(text)); }

/// What an event says; older structs end before the payload or the message.
struct Event {
  uint32_t name = 0;
  uint64_t category = 0;
  uint64_t payload = 0;
};

uint64_t PayloadOf(const nvtxEventAttributes_t& attributes) {
  switch (attributes.payloadType) {
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
    case NVTX_PAYLOAD_TYPE_INT64:
    case NVTX_PAYLOAD_TYPE_DOUBLE:
      return attributes.payload.ullValue;
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
    case NVTX_PAYLOAD_TYPE_FLOAT:
      return attributes.payload.uiValue;
    case NVTX_PAYLOAD_TYPE_INT32:
      return static_cast<uint64_t>(int64_t{attributes.payload.iValue});
    default:
      return 0;
  }
}

Event EventOf(const nvtxEventAttributes_t* attributes) {
  if (attributes == nullptr) return {IdOfText(""), 0, 0};
  Event event;
  event.category = attributes->category;
  event.payload = PayloadOf(*attributes);
  switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      event.name = IdOfText(attributes->message.ascii);
      break;
    case NVTX_MESSAGE_TYPE_UNICODE:
      event.name = IdOfText(attributes->message.unicode);
      break;
    case NVTX_MESSAGE_TYPE_REGISTERED:
      event.name = IdOf(attributes->message.registered);
      break;
    default:
      event.name = IdOfText("");
      break;
  }
  return event;
}

/// How deep this thread is in each domain: what push and pop answer.
int* Depth(uint32_t domain) {
  thread_local std::vector<std::pair<uint32_t, int>> depths;
  for (auto& [known, depth] : depths)
    if (known == domain) return &depth;
  return &depths.emplace_back(domain, 0).second;
}

int Push(uint32_t domain, const Event& event) {
  if (ThreadTrace* thread = Thread())
    thread->Write(RecordType::kRangePush, event.name, MonotonicNs(),
                  std::array<uint64_t, 2>{uint64_t{domain} << 32 | event.category, event.payload});
  return (*Depth(domain))++;
}

int Pop(uint32_t domain) {
  if (ThreadTrace* thread = Thread()) thread->Write(RecordType::kRangePop, domain, MonotonicNs());
  int* depth = Depth(domain);
  return *depth > 0 ? --*depth : NVTX_NO_PUSH_POP_TRACKING;
}

void Mark(uint32_t domain, const Event& event) {
  if (ThreadTrace* thread = Thread())
    thread->Write(RecordType::kMark, event.name, MonotonicNs(),
                  std::array<uint64_t, 2>{uint64_t{domain} << 32 | event.category, event.payload});
}

nvtxRangeId_t Start(uint32_t domain, const Event& event) {
  static std::atomic<uint64_t> next_range{1};
  const uint64_t range = next_range.fetch_add(1, std::memory_order_relaxed);
  if (ThreadTrace* thread = Thread())
    thread->Write(RecordType::kRangeStart, event.name, MonotonicNs(),
                  std::array<uint64_t, 2>{uint64_t{domain} << 32 | event.category, range});
  return range;
}

void End(nvtxRangeId_t range) {
  if (ThreadTrace* thread = Thread())
    thread->Write(RecordType::kRangeEnd, 0, MonotonicNs(), std::array<uint64_t, 1>{range});
}

nvtxDomainHandle_t NewDomain(const std::string& name) {
  TraceWriter* writer = Writer();
  if (writer == nullptr) return nullptr;
  const uint32_t id = writer->NewId();
  if (ThreadTrace* thread = Thread())
    thread->WriteText(RecordType::kDomainDef, id, MonotonicNs(), name);
  return HandleOf<nvtxDomainHandle_t>(id);
}

// The functions that NVTX calls. Domain 0 is the default one.

void NVTX_API MarkEx(const nvtxEventAttributes_t* a) { Mark(0, EventOf(a)); }
void NVTX_API MarkA(const char* text) { Mark(0, {IdOfText(text), 0, 0}); }
void NVTX_API MarkW(const wchar_t* text) { Mark(0, {IdOfText(text), 0, 0}); }
nvtxRangeId_t NVTX_API StartEx(const nvtxEventAttributes_t* a) { return Start(0, EventOf(a)); }
nvtxRangeId_t NVTX_API StartA(const char* text) { return Start(0, {IdOfText(text), 0, 0}); }
nvtxRangeId_t NVTX_API StartW(const wchar_t* text) { return Start(0, {IdOfText(text), 0, 0}); }
void NVTX_API EndRange(nvtxRangeId_t range) { End(range); }
int NVTX_API PushEx(const nvtxEventAttributes_t* a) { return Push(0, EventOf(a)); }
int NVTX_API PushA(const char* text) { return Push(0, {IdOfText(text), 0, 0}); }
int NVTX_API PushW(const wchar_t* text) { return Push(0, {IdOfText(text), 0, 0}); }
int NVTX_API PopRange() { return Pop(0); }

void NVTX_API DomainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* a) {
  Mark(IdOf(domain), EventOf(a));
}
nvtxRangeId_t NVTX_API DomainStartEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* a) {
  return Start(IdOf(domain), EventOf(a));
}
void NVTX_API DomainEnd(nvtxDomainHandle_t, nvtxRangeId_t range) { End(range); }
int NVTX_API DomainPushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* a) {
  return Push(IdOf(domain), EventOf(a));
}
int NVTX_API DomainPop(nvtxDomainHandle_t domain) { return Pop(IdOf(domain)); }
nvtxStringHandle_t NVTX_API RegisterA(nvtxDomainHandle_t, const char* text) {
  return HandleOf<nvtxStringHandle_t>(IdOfText(text));
}
nvtxStringHandle_t NVTX_API RegisterW(nvtxDomainHandle_t, const wchar_t* text) {
  return HandleOf<nvtxStringHandle_t>(IdOfText(text));
}
nvtxDomainHandle_t NVTX_API CreateA(const char* name) {
  return NewDomain(name == nullptr ? "" : name);
}
nvtxDomainHandle_t NVTX_API CreateW(const wchar_t* name) { return NewDomain(Narrow(name)); }

struct Entry {
  unsigned id;
  NvtxFunctionPointer function;
};

template <typename Function>
NvtxFunctionPointer Pointer(Function* function) {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}

/// Puts our functions into a module's table; a table of an older NVTX is shorter.
bool Install(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module,
             const std::vector<Entry>& entries) {
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks.GetModuleFunctionTable(module, &table, &size) == 0 || table == nullptr)
    return false;
  for (const Entry& entry : entries)
    if (entry.id < size && table[entry.id] != nullptr) *table[entry.id] = entry.function;
  return true;
}

}  // namespace
}  // namespace sg::trace::collector

extern "C" __attribute__((visibility("default"))) int NVTX_API
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  using namespace sg::trace::collector;
  if (get_table == nullptr || Writer() == nullptr) return 0;
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(NvtxExportTableCallbacks)) return 0;
  const bool core = Install(*callbacks, NVTX_CB_MODULE_CORE,
                            {{NVTX_CBID_CORE_MarkEx, Pointer(MarkEx)},
                             {NVTX_CBID_CORE_MarkA, Pointer(MarkA)},
                             {NVTX_CBID_CORE_MarkW, Pointer(MarkW)},
                             {NVTX_CBID_CORE_RangeStartEx, Pointer(StartEx)},
                             {NVTX_CBID_CORE_RangeStartA, Pointer(StartA)},
                             {NVTX_CBID_CORE_RangeStartW, Pointer(StartW)},
                             {NVTX_CBID_CORE_RangeEnd, Pointer(EndRange)},
                             {NVTX_CBID_CORE_RangePushEx, Pointer(PushEx)},
                             {NVTX_CBID_CORE_RangePushA, Pointer(PushA)},
                             {NVTX_CBID_CORE_RangePushW, Pointer(PushW)},
                             {NVTX_CBID_CORE_RangePop, Pointer(PopRange)}});
  const bool domains = Install(*callbacks, NVTX_CB_MODULE_CORE2,
                               {{NVTX_CBID_CORE2_DomainMarkEx, Pointer(DomainMarkEx)},
                                {NVTX_CBID_CORE2_DomainRangeStartEx, Pointer(DomainStartEx)},
                                {NVTX_CBID_CORE2_DomainRangeEnd, Pointer(DomainEnd)},
                                {NVTX_CBID_CORE2_DomainRangePushEx, Pointer(DomainPushEx)},
                                {NVTX_CBID_CORE2_DomainRangePop, Pointer(DomainPop)},
                                {NVTX_CBID_CORE2_DomainRegisterStringA, Pointer(RegisterA)},
                                {NVTX_CBID_CORE2_DomainRegisterStringW, Pointer(RegisterW)},
                                {NVTX_CBID_CORE2_DomainCreateA, Pointer(CreateA)},
                                {NVTX_CBID_CORE2_DomainCreateW, Pointer(CreateW)}});
  return core || domains ? 1 : 0;
}
