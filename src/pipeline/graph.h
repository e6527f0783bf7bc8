// A pipeline as data: what a launch string, a deepstream-app config or a program says, with the
// place that each part came from. Plain values; no GStreamer, and no element has to be installed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sg {

/// A range of bytes [begin, end) of Graph::sources[source]. Lines and columns count from 1, columns
/// in bytes. Default-constructed: nowhere (something that no text says, such as an implied mux).
struct GraphPlace {
  int source = -1;
  size_t begin = 0;
  size_t end = 0;
  int line = 0;
  int column = 0;

  bool known() const { return source >= 0; }
};

/// `name=value` of one element. `a::b=c` keeps its whole name.
struct GraphProperty {
  std::string name;
  std::string value;      ///< as the property's type reads it: quotes and escapes resolved
  std::string type_hint;  ///< "int" for the value "(int)5", which keeps its hint; else empty
  GraphPlace place;       ///< name, "=" and value
  /// The value alone, with its quotes; what an edit replaces.
  GraphPlace value_place;
};

struct GraphElement {
  std::string factory;  ///< empty for an element that a URI stands for
  std::string name;     ///< empty: none was given
  std::string uri;      ///< of an element that a URI stands for
  /// Index of the bin that holds it in Graph::elements; -1: the pipeline itself.
  int bin = -1;
  bool is_bin = false;                    ///< written with brackets
  std::vector<GraphProperty> properties;  ///< in the order of the text, duplicates kept, no `name`
  std::vector<std::string> presets;
  GraphPlace place;       ///< the factory's name, or the URI
  GraphPlace name_place;  ///< the value of `name=`, if it was given

  /// The property in force (the last of that name); null if it is not set.
  const GraphProperty* Find(std::string_view property) const;
};

/// One end of a link. No pads: any pad that fits.
struct GraphLinkEnd {
  int element = -1;  ///< index in Graph::elements
  std::vector<std::string> pads;
  GraphPlace place;  ///< the reference or the pads, where they are written
};

struct GraphLink {
  GraphLinkEnd from;
  GraphLinkEnd to;
  std::string caps;       ///< the caps filter with escapes resolved; empty: none
  bool all_pads = false;  ///< ":" - every pad, also those that appear later
  GraphPlace place;       ///< the operator with the caps filter
  GraphPlace caps_place;
};

/// A text that the graph was read from.
struct GraphSource {
  std::string path;  ///< empty: the command line
};

struct Graph {
  std::vector<GraphSource> sources;
  std::vector<GraphElement> elements;  ///< in the order of the text; a bin comes before its content
  std::vector<GraphLink> links;        ///< in the order in which GStreamer makes them

  /// Index of the element of that name, given or implied (ImpliedNames); -1: there is none.
  int IndexOf(std::string_view name) const;
};

/// Names of all elements: the given ones, and for the others the factory with a number counted per
/// factory, which is what GStreamer gives in a fresh process to factories named like their type.
std::vector<std::string> ImpliedNames(const Graph& graph);

/// "FILE:LINE:COLUMN", "LINE:COLUMN" for the command line, "" for a place that is not known.
std::string FormatPlace(const Graph& graph, const GraphPlace& place);

/// True when both say the same pipeline: everything but the places is equal.
bool SameGraph(const Graph& a, const Graph& b);

}  // namespace sg
