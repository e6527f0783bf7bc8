// A program that says what it does through NVTX, for collector_test.cc.
#include <nvtx3/nvToolsExt.h>

#include <chrono>
#include <cstdio>
#include <thread>

namespace {

void Sleep(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

nvtxEventAttributes_t Attributes() {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  return attributes;
}

void Nested() {
  nvtxRangePushA("outer");
  Sleep(5);
  nvtxRangePushW(L"wide \u00e9\u20ac");
  Sleep(5);
  nvtxRangePop();
  nvtxRangePop();
}

void Registered() {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("planted");
  nvtxEventAttributes_t attributes = Attributes();
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = nvtxDomainRegisterStringA(domain, "registered");
  attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  for (uint64_t i = 0; i < 1000; ++i) {
    attributes.payload.ullValue = i;
    nvtxDomainRangePushEx(domain, &attributes);
    nvtxDomainRangePop(domain);
  }
}

}  // namespace

int main() {
  Nested();
  std::thread(Registered).join();
  const nvtxRangeId_t range = nvtxRangeStartA("started");
  // A range may end on another thread.
  std::thread([range] {
    Sleep(5);
    nvtxRangeEnd(range);
  }).join();
  nvtxMarkA("mark");
  for (int i = 0; i < 3; ++i) {
    char name[32];
    std::snprintf(name, sizeof name, "step Frame=%d", i);
    nvtxRangePushA(name);
    nvtxRangePop();
  }
  // A stray pop, and a range that never ends.
  std::thread([] { std::printf("%d\n", nvtxRangePop()); }).join();
  nvtxRangePushA("left open");
  // Without ending: what was recorded is kept.
  std::fflush(stdout);
  std::_Exit(0);
}
