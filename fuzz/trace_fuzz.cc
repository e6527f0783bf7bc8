// Any bytes as a trace file: they are read as far as they make sense, and nothing beyond.
#include <cstring>
#include <vector>

#include "trace/trace_format.h"
#include "trace/trace_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sg::trace;
  // The header is made valid, so that the input is spent on chunks.
  std::vector<uint64_t> words(kHeaderBytes / kWordBytes + size / kWordBytes);
  std::memcpy(words.data(), kMagic, sizeof kMagic);
  words[1] = uint64_t{kChunkBytes} << 32 | kVersion;
  if (size >= kWordBytes)
    std::memcpy(words.data() + kHeaderBytes / kWordBytes, data, size / kWordBytes * kWordBytes);
  const auto trace = TraceFile::Parse(std::move(words), "input");
  if (!trace.ok()) return 0;
  uint64_t sum = 0;
  for (const TracedThread& thread : trace->threads)
    trace->ForEach(thread, [&](const Record& record) {
      for (int i = 0; i < ShapeOf(record.type).words; ++i) sum += record.words[i];
      for (const char c : record.text) sum += static_cast<unsigned char>(c);
    });
  const LinkTable links(*trace);
  sum += links.PeerAt(1, 1);
  return sum == 1 ? -1 : 0;
}
