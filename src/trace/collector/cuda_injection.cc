// CUDA calls InitializeInjection when CUDA_INJECTION64_PATH names this library. CUPTI is loaded
// then, so that the NVTX half works where CUPTI is not.
#include <cupti.h>
#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "trace/collector/collector.h"

namespace sg::trace::collector {
namespace {

// The records' names count up with CUPTI's version; the fields that are read here kept theirs.
#if CUPTI_API_VERSION >= 130000
using KernelRecord = CUpti_ActivityKernel10;
using CopyRecord = CUpti_ActivityMemcpy6;
using PeerCopyRecord = CUpti_ActivityMemcpyPtoP4;
using MemoryRecord = CUpti_ActivityMemory4;
using SyncRecord = CUpti_ActivitySynchronization2;
#else
using KernelRecord = CUpti_ActivityKernel9;
using CopyRecord = CUpti_ActivityMemcpy5;
using PeerCopyRecord = CUpti_ActivityMemcpyPtoP4;
using MemoryRecord = CUpti_ActivityMemory3;
using SyncRecord = CUpti_ActivitySynchronization;
#endif
using FillRecord = CUpti_ActivityMemset4;
/// Versions count by 10000 a major one since CUDA 12.
constexpr uint32_t kMajor = 10000;

constexpr size_t kBufferBytes = size_t{8} << 20;
constexpr size_t kBufferAlignment = 8;
constexpr uint32_t kFlushPeriodMs = 500;

/// CUPTI's functions, found by name.
struct Cupti {
  decltype(&cuptiGetVersion) get_version = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityRegisterTimestampCallback) register_clock = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityFlushAll) flush = nullptr;
  decltype(&cuptiActivityFlushPeriod) flush_period = nullptr;
  decltype(&cuptiActivityGetNextRecord) next = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped = nullptr;
  decltype(&cuptiGetCallbackName) callback_name = nullptr;
  decltype(&cuptiGetResultString) result_text = nullptr;
};
Cupti g_cupti;

bool LoadCupti() {
  const std::string same = "libcupti.so." + std::to_string(CUPTI_API_VERSION / kMajor);
  void* library = nullptr;
  for (const std::string& name : {same, std::string(SG_CUPTI_LIBRARY), std::string("libcupti.so")})
    if (library == nullptr) library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    Note("kernels, copies and CUDA calls: CUPTI is not here (" + same +
         "); put its folder into LD_LIBRARY_PATH");
    return false;
  }
  bool all = true;
  const auto find = [&](auto* function, const char* name) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
    all = all && *function != nullptr;
  };
  find(&g_cupti.get_version, "cuptiGetVersion");
  find(&g_cupti.register_callbacks, "cuptiActivityRegisterCallbacks");
  find(&g_cupti.register_clock, "cuptiActivityRegisterTimestampCallback");
  find(&g_cupti.enable, "cuptiActivityEnable");
  find(&g_cupti.flush, "cuptiActivityFlushAll");
  find(&g_cupti.flush_period, "cuptiActivityFlushPeriod");
  find(&g_cupti.next, "cuptiActivityGetNextRecord");
  find(&g_cupti.dropped, "cuptiActivityGetNumDroppedRecords");
  find(&g_cupti.callback_name, "cuptiGetCallbackName");
  find(&g_cupti.result_text, "cuptiGetResultString");
  uint32_t version = 0;
  if (all && g_cupti.get_version(&version) == CUPTI_SUCCESS &&
      version / kMajor == CUPTI_API_VERSION / kMajor)
    return true;
  Note("kernels, copies and CUDA calls: CUPTI here is version " + std::to_string(version) +
       ", the collector was built for " + std::to_string(CUPTI_API_VERSION));
  return false;
}

std::string ResultText(CUptiResult result) {
  const char* text = nullptr;
  g_cupti.result_text(result, &text);
  return text == nullptr ? std::to_string(result) : text;
}

/// "gemm(float*, int)" of a mangled name.
std::string Demangled(const char* name) {
  if (name == nullptr) return "(kernel without a name)";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 && text != nullptr ? text.get() : name;
}

/// A kernel's number. CUPTI keeps its names for the process's life, so the address finds it.
uint32_t KernelId(const char* name) {
  thread_local std::unordered_map<const void*, uint32_t> known;
  const auto [at, fresh] = known.try_emplace(name, 0);
  if (fresh) at->second = NameId(Demangled(name));
  return at->second;
}

uint32_t ApiId(CUpti_CallbackDomain domain, uint32_t function) {
  thread_local std::unordered_map<uint64_t, uint32_t> known;
  const auto [at, fresh] = known.try_emplace(uint64_t{domain} << 32 | function, 0);
  if (!fresh) return at->second;
  const char* name = nullptr;
  g_cupti.callback_name(domain, function, &name);
  std::string text = name == nullptr ? "call " + std::to_string(function) : name;
  // "cudaLaunchKernel_v7000" is what the runtime calls cudaLaunchKernel.
  const size_t version = text.rfind("_v");
  if (version != std::string::npos && text.size() - version >= 6) text.resize(version);
  at->second = NameId(text);
  return at->second;
}

const char* SyncName(uint32_t type) {
  switch (type) {
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE:
      return "Event";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT:
      return "StreamWaitEvent";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE:
      return "Stream";
    case CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE:
      return "Context";
    default:
      return "Unknown";
  }
}

uint64_t Where(uint32_t device, uint32_t stream) { return uint64_t{device} << 32 | stream; }

void WriteRecord(ThreadTrace* thread, const CUpti_Activity* record) {
  const uint64_t now = MonotonicNs();
  const auto write = [&](RecordType type, uint32_t id, auto... words) {
    thread->Write(type, id, now, std::array<uint64_t, sizeof...(words)>{uint64_t{words}...});
  };
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto* kernel = reinterpret_cast<const KernelRecord*>(record);
      write(RecordType::kGpuKernel, KernelId(kernel->name), kernel->start, kernel->end,
            Where(kernel->deviceId, kernel->streamId), kernel->correlationId);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto* copy = reinterpret_cast<const CopyRecord*>(record);
      write(RecordType::kGpuCopy, copy->copyKind, copy->start, copy->end,
            Where(copy->deviceId, copy->streamId), copy->bytes);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
      const auto* copy = reinterpret_cast<const PeerCopyRecord*>(record);
      write(RecordType::kGpuCopy, kCopyPeerToPeer, copy->start, copy->end,
            Where(copy->deviceId, copy->streamId), copy->bytes);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto* fill = reinterpret_cast<const FillRecord*>(record);
      write(RecordType::kGpuFill, 0, fill->start, fill->end, Where(fill->deviceId, fill->streamId),
            fill->bytes);
      break;
    }
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: {
      const auto* call = reinterpret_cast<const CUpti_ActivityAPI*>(record);
      const bool runtime = record->kind == CUPTI_ACTIVITY_KIND_RUNTIME;
      write(RecordType::kApiCall,
            ApiId(runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API, call->cbid),
            call->start, call->end, call->threadId, call->correlationId);
      break;
    }
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: {
      const auto* sync = reinterpret_cast<const SyncRecord*>(record);
      write(RecordType::kGpuSync, NameId(SyncName(sync->type)), sync->start, sync->end,
            Where(sync->contextId, sync->streamId));
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMORY2: {
      const auto* memory = reinterpret_cast<const MemoryRecord*>(record);
      const bool made =
          memory->memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
      write(RecordType::kGpuMemory, made ? 1 : 2, memory->bytes, memory->address, memory->deviceId);
      break;
    }
    default:
      break;
  }
}

void CUPTIAPI GiveBuffer(uint8_t** buffer, size_t* size, size_t* max_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *max_records = 0;
}

void CUPTIAPI TakeBuffer(CUcontext context, uint32_t stream, uint8_t* buffer, size_t, size_t used) {
  ThreadTrace* thread = Thread();
  CUpti_Activity* record = nullptr;
  while (thread != nullptr && g_cupti.next(buffer, used, &record) == CUPTI_SUCCESS)
    WriteRecord(thread, record);
  size_t dropped = 0;
  if (g_cupti.dropped(context, stream, &dropped) == CUPTI_SUCCESS && dropped > 0)
    Note("CUPTI had no room for " + std::to_string(dropped) + " records");
  std::free(buffer);
}

uint64_t CUPTIAPI Clock() { return MonotonicNs(); }

void FlushAtExit() { g_cupti.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); }

/// Turns the kinds on; what is refused is noted, the rest goes on.
void StartActivities() {
  CUptiResult result = g_cupti.register_clock(Clock);
  if (result != CUPTI_SUCCESS)
    Note("the GPU's times are of CUPTI's clock, not the threads': " + ResultText(result));
  result = g_cupti.register_callbacks(GiveBuffer, TakeBuffer);
  if (result != CUPTI_SUCCESS) {
    Note("kernels, copies and CUDA calls: CUPTI refused: " + ResultText(result));
    return;
  }
  constexpr std::pair<CUpti_ActivityKind, const char*> kKinds[] = {
      {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kernels"},
      {CUPTI_ACTIVITY_KIND_MEMCPY, "copies"},
      {CUPTI_ACTIVITY_KIND_MEMCPY2, "copies between GPUs"},
      {CUPTI_ACTIVITY_KIND_MEMSET, "fills"},
      {CUPTI_ACTIVITY_KIND_RUNTIME, "CUDA runtime calls"},
      {CUPTI_ACTIVITY_KIND_DRIVER, "CUDA driver calls"},
      {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, "synchronisation"},
      {CUPTI_ACTIVITY_KIND_MEMORY2, "memory"}};
  for (const auto& [kind, name] : kKinds) {
    result = g_cupti.enable(kind);
    if (result != CUPTI_SUCCESS) Note(std::string(name) + ": CUPTI refused: " + ResultText(result));
  }
  // A process that is killed loses no more than this.
  g_cupti.flush_period(kFlushPeriodMs);
  std::atexit(FlushAtExit);
}

}  // namespace
}  // namespace sg::trace::collector

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  using namespace sg::trace::collector;
  if (Writer() != nullptr && LoadCupti()) StartActivities();
  // Anything but 1 makes the driver give up; the program is not to suffer.
  return 1;
}
