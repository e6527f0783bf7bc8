#include "gst/tracer/element_facts.h"

#include "trace/trace_format.h"

namespace sg::trace {
namespace {

constexpr char kLevelBuffers[] = "current-level-buffers";

bool HasProperty(gpointer object, const char* name) {
  return g_object_class_find_property(G_OBJECT_GET_CLASS(object), name) != nullptr;
}

void AddLevelOf(gpointer object, Level* level) {
  if (!HasProperty(object, kLevelBuffers)) return;
  // A multiqueue's pads have guint, a queue guint, an appsrc guint64: GValue converts.
  const auto read = [object](const char* name) -> uint64_t {
    GParamSpec* spec = g_object_class_find_property(G_OBJECT_GET_CLASS(object), name);
    if (spec == nullptr) return 0;
    GValue raw = G_VALUE_INIT;
    GValue number = G_VALUE_INIT;
    g_value_init(&raw, spec->value_type);
    g_value_init(&number, G_TYPE_UINT64);
    g_object_get_property(G_OBJECT(object), name, &raw);
    g_value_transform(&raw, &number);
    const uint64_t value = g_value_get_uint64(&number);
    g_value_unset(&raw);
    g_value_unset(&number);
    return value;
  };
  level->known = true;
  level->buffers += read(kLevelBuffers);
  level->bytes += read("current-level-bytes");
  level->time_ns += read("current-level-time");
}

}  // namespace

std::string NameOf(GstObject* object) {
  gchar* name = gst_object_get_name(object);
  std::string text = name != nullptr ? name : "";
  g_free(name);
  return text;
}

std::string PathOf(GstObject* object) {
  std::string path = NameOf(object);
  GstObject* parent = gst_object_get_parent(object);
  while (parent != nullptr) {
    path = NameOf(parent) + "/" + path;
    GstObject* next = gst_object_get_parent(parent);
    gst_object_unref(parent);
    parent = next;
  }
  return path;
}

GstElement* ElementAround(GstPad* pad) {
  GstObject* parent = gst_object_get_parent(GST_OBJECT(pad));
  while (parent != nullptr && !GST_IS_ELEMENT(parent)) {
    GstObject* next = gst_object_get_parent(parent);
    gst_object_unref(parent);
    parent = next;
  }
  return GST_ELEMENT(parent);
}

Level LevelOf(GstElement* element) {
  Level level;
  AddLevelOf(element, &level);
  if (level.known) return level;
  GST_OBJECT_LOCK(element);
  GList* pads = g_list_copy_deep(
      element->sinkpads, [](gconstpointer pad, gpointer) { return gst_object_ref(gpointer(pad)); },
      nullptr);
  GST_OBJECT_UNLOCK(element);
  for (GList* at = pads; at != nullptr; at = at->next) AddLevelOf(at->data, &level);
  g_list_free_full(pads, gst_object_unref);
  return level;
}

bool Leaks(GstElement* element) {
  GParamSpec* spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), "leaky");
  if (spec == nullptr || !G_IS_PARAM_SPEC_ENUM(spec)) return false;
  gint leaky = 0;
  g_object_get(element, "leaky", &leaky, nullptr);
  return leaky != 0;
}

std::string FactoryOf(GstElement* element) {
  GstElementFactory* factory = gst_element_get_factory(element);
  return factory != nullptr ? GST_OBJECT_NAME(factory) : "";
}

uint64_t FlagsOf(GstElement* element) {
  uint64_t flags = 0;
  if (GST_IS_BIN(element)) flags |= kElementIsBin;
  if (GST_OBJECT_FLAG_IS_SET(element, GST_ELEMENT_FLAG_SOURCE)) flags |= kElementIsSource;
  if (GST_OBJECT_FLAG_IS_SET(element, GST_ELEMENT_FLAG_SINK)) flags |= kElementIsSink;
  if (HasProperty(element, kLevelBuffers) || FactoryOf(element) == "multiqueue")
    flags |= kElementStores;
  return flags;
}

}  // namespace sg::trace
