#include "pipeline/gst/pipeline_shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>

namespace sg {
namespace {

void ForEachElement(GstIterator* elements, const std::function<void(GstElement*)>& see) {
  GValue value = G_VALUE_INIT;
  while (gst_iterator_next(elements, &value) == GST_ITERATOR_OK) {
    see(GST_ELEMENT(g_value_get_object(&value)));
    g_value_reset(&value);
  }
  g_value_unset(&value);
  gst_iterator_free(elements);
}

bool IsSink(GstElement* element) {
  return GST_OBJECT_FLAG_IS_SET(element, GST_ELEMENT_FLAG_SINK) && !GST_IS_BIN(element);
}

std::string FactoryName(GstElement* element) {
  GstElementFactory* factory = gst_element_get_factory(element);
  return factory != nullptr ? GST_OBJECT_NAME(factory) : "";
}

}  // namespace

GstOwned<GstElement> FindMux(GstBin* pipeline) {
  GstOwned<GstElement> mux(gst_bin_get_by_name(pipeline, "mux"));
  if (mux != nullptr) return mux;
  ForEachElement(gst_bin_iterate_recurse(pipeline), [&mux](GstElement* element) {
    if (mux == nullptr && FactoryName(element) == "sgmux")
      mux.reset(GST_ELEMENT(gst_object_ref(element)));
  });
  return mux;
}

Result<GstOwned<GstElement>> FindTap(GstBin* pipeline, const std::string& name) {
  if (!name.empty()) {
    GstOwned<GstElement> tap(gst_bin_get_by_name(pipeline, name.c_str()));
    if (tap == nullptr)
      return UserError("pipeline: has no element named \"" + name + "\" to count frames at");
    return tap;
  }
  std::vector<std::string> names;
  GstOwned<GstElement> tap;
  ForEachElement(gst_bin_iterate_recurse(pipeline), [&](GstElement* element) {
    if (!IsSink(element)) return;
    names.emplace_back(GST_OBJECT_NAME(element));
    tap.reset(GST_ELEMENT(gst_object_ref(element)));
  });
  if (names.empty())
    return UserError("pipeline: has no sink to count frames at; end it with fakesink sync=false");
  if (names.size() > 1) {
    std::sort(names.begin(), names.end());
    return UserError(
        fmt::format("pipeline: has {} sinks ({}); say with --tap at which one, or at "
                    "which other element, frames are counted",
                    names.size(), fmt::join(names, ", ")));
  }
  return tap;
}

int CountSources(GstElement* mux, const std::string& launch) {
  if (mux == nullptr) return 1;
  GST_OBJECT_LOCK(mux);
  int sources = mux->numsinkpads;
  GST_OBJECT_UNLOCK(mux);
  const std::string reference = std::string(GST_OBJECT_NAME(mux)) + ".sink_";
  for (size_t at = launch.find(reference); at != std::string::npos;
       at = launch.find(reference, at + 1)) {
    int number = -1;
    std::from_chars(launch.data() + at + reference.size(), launch.data() + launch.size(), number);
    constexpr int kMost = 4096;
    if (number >= 0 && number < kMost) sources = std::max(sources, number + 1);
  }
  return std::max(1, sources);
}

std::vector<std::string> ClockPacedSinks(GstBin* pipeline) {
  std::vector<std::string> names;
  ForEachElement(gst_bin_iterate_recurse(pipeline), [&names](GstElement* element) {
    if (!IsSink(element)) return;
    const GParamSpec* property = g_object_class_find_property(G_OBJECT_GET_CLASS(element), "sync");
    if (property == nullptr || property->value_type != G_TYPE_BOOLEAN) return;
    gboolean sync = FALSE;
    g_object_get(element, "sync", &sync, nullptr);
    if (sync) names.emplace_back(GST_OBJECT_NAME(element));
  });
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace sg
