#include "base/gpu_sampler.h"

#include <dlfcn.h>

#include <algorithm>
#include <vector>

namespace sg {
namespace {

// NVML's C interface as NVIDIA documents it ("NVML API Reference Guide"); 0 is success.
using Device = void*;
constexpr int kSuccess = 0;
constexpr int kClockSm = 1;
struct Utilization {
  unsigned gpu;
  unsigned memory;
};
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

class Nvml {
 public:
  Nvml() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    int (*init)() = nullptr;
    int (*count)(unsigned*) = nullptr;
    int (*handle)(unsigned, Device*) = nullptr;
    Find(library, "nvmlInit_v2", &init);
    Find(library, "nvmlDeviceGetCount_v2", &count);
    Find(library, "nvmlDeviceGetHandleByIndex_v2", &handle);
    Find(library, "nvmlDeviceGetUtilizationRates", &utilization_);
    Find(library, "nvmlDeviceGetDecoderUtilization", &decoder_);
    Find(library, "nvmlDeviceGetClockInfo", &clock_);
    Find(library, "nvmlDeviceGetMemoryInfo", &memory_);
    unsigned devices = 0;
    if (init == nullptr || count == nullptr || handle == nullptr || init() != kSuccess ||
        count(&devices) != kSuccess)
      return;
    for (unsigned i = 0; i < devices; ++i)
      if (Device device = nullptr; handle(i, &device) == kSuccess) devices_.push_back(device);
  }

  GpuLoad Sample() const {
    GpuLoad load;
    double sm_sum = 0, decoder_sum = 0, memory_sum = 0;
    int sm_known = 0, decoder_known = 0, memory_known = 0;
    for (Device device : devices_) {
      Utilization utilization{};
      if (utilization_ != nullptr && utilization_(device, &utilization) == kSuccess) {
        sm_sum += utilization.gpu;
        ++sm_known;
      }
      unsigned percent = 0, period_us = 0, mhz = 0;
      if (decoder_ != nullptr && decoder_(device, &percent, &period_us) == kSuccess) {
        decoder_sum += percent;
        ++decoder_known;
      }
      if (clock_ != nullptr && clock_(device, kClockSm, &mhz) == kSuccess)
        load.sm_mhz = std::min<double>(load.sm_mhz.value_or(mhz), mhz);
      Memory memory{};
      if (memory_ != nullptr && memory_(device, &memory) == kSuccess) {
        memory_sum += static_cast<double>(memory.used);
        ++memory_known;
      }
    }
    if (sm_known > 0) load.sm_percent = sm_sum / sm_known;
    if (decoder_known > 0) load.decoder_percent = decoder_sum / decoder_known;
    if (memory_known > 0) load.memory_bytes = memory_sum;
    return load;
  }

 private:
  template <typename Function>
  static void Find(void* library, const char* name, Function* function) {
    *function = reinterpret_cast<Function>(dlsym(library, name));
  }

  int (*utilization_)(Device, Utilization*) = nullptr;
  int (*decoder_)(Device, unsigned*, unsigned*) = nullptr;
  int (*clock_)(Device, int, unsigned*) = nullptr;
  int (*memory_)(Device, Memory*) = nullptr;
  std::vector<Device> devices_;
};

}  // namespace

GpuLoad SampleGpus() {
  // Never unloaded: the driver's library keeps threads.
  static const Nvml* const nvml = new Nvml();
  return nvml->Sample();
}

}  // namespace sg
