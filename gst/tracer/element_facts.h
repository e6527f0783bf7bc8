// What a trace says of an element besides its times. Any thread; object and property locks are
// taken.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <string>

namespace sg::trace {

struct Level {
  bool known = false;  ///< the element tells its level
  uint64_t buffers = 0;
  uint64_t bytes = 0;
  uint64_t time_ns = 0;  ///< of media
};

std::string NameOf(GstObject* object);
/// "pipeline0/bin0/queue0".
std::string PathOf(GstObject* object);
/// "queue"; empty when no factory made it.
std::string FactoryOf(GstElement* element);
/// The element around a pad, through ghost pads; nullptr, or a reference.
GstElement* ElementAround(GstPad* pad);
/// ElementFlags, but kElementLeaks: that reads a property under the element's lock.
uint64_t FlagsOf(GstElement* element);
/// Whether it is a queue that drops when it is full.
bool Leaks(GstElement* element);
/// The element's own level, or the sum of its sink pads' (multiqueue).
Level LevelOf(GstElement* element);

}  // namespace sg::trace
