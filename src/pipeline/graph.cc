#include "pipeline/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace sg {
namespace {

bool SameProperty(const GraphProperty& a, const GraphProperty& b) {
  return a.name == b.name && a.value == b.value && a.type_hint == b.type_hint;
}

bool SameElement(const GraphElement& a, const GraphElement& b) {
  return a.factory == b.factory && a.name == b.name && a.uri == b.uri && a.bin == b.bin &&
         a.is_bin == b.is_bin && a.presets == b.presets &&
         std::equal(a.properties.begin(), a.properties.end(), b.properties.begin(),
                    b.properties.end(), SameProperty);
}

bool SameEnd(const GraphLinkEnd& a, const GraphLinkEnd& b) {
  return a.element == b.element && a.pads == b.pads;
}

bool SameLink(const GraphLink& a, const GraphLink& b) {
  return SameEnd(a.from, b.from) && SameEnd(a.to, b.to) && a.caps == b.caps &&
         a.all_pads == b.all_pads;
}

}  // namespace

const GraphProperty* GraphElement::Find(std::string_view property) const {
  for (auto it = properties.rbegin(); it != properties.rend(); ++it)
    if (it->name == property) return &*it;
  return nullptr;
}

int Graph::IndexOf(std::string_view name) const {
  const auto names = ImpliedNames(*this);
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

std::vector<std::string> ImpliedNames(const Graph& graph) {
  std::vector<std::string> names;
  names.reserve(graph.elements.size());
  std::map<std::string, int, std::less<>> count;
  for (const auto& element : graph.elements) {
    if (!element.name.empty())
      names.push_back(element.name);
    else
      names.push_back(fmt::format("{}{}", element.factory.empty() ? "uri" : element.factory,
                                  count[element.factory]++));
  }
  return names;
}

std::string FormatPlace(const Graph& graph, const GraphPlace& place) {
  if (!place.known()) return "";
  const auto& path = graph.sources[static_cast<size_t>(place.source)].path;
  return path.empty() ? fmt::format("{}:{}", place.line, place.column)
                      : fmt::format("{}:{}:{}", path, place.line, place.column);
}

bool SameGraph(const Graph& a, const Graph& b) {
  return std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(), b.elements.end(),
                    SameElement) &&
         std::equal(a.links.begin(), a.links.end(), b.links.begin(), b.links.end(), SameLink);
}

}  // namespace sg
