// Elements are written in their order. A link is written where its later end is ("a ! b") when it
// is the next one to make, and as a reference ("x.pad ! y.") otherwise.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "pipeline/launch_lexer.h"
#include "pipeline/launch_parser.h"

namespace sg {
namespace {

std::string JoinPads(const std::vector<std::string>& pads) {
  return fmt::format("{}", fmt::join(pads, ","));
}

class Printer {
 public:
  explicit Printer(const Graph& graph)
      : graph_(graph), names_(ImpliedNames(graph)), entered_(graph.links.size()) {}

  Result<std::string> Print() {
    Content(Size());
    while (next_link_ < graph_.links.size()) ByReference(graph_.links[next_link_++]);
    const auto again = ParseLaunch(text_, "");
    if (!again.ok() || !SameGraph(graph_, *again))
      return UnsupportedError(
          "this graph cannot be written as a launch string: give names to the elements whose links "
          "do not follow their order");
    return text_;
  }

 private:
  int Size() const { return static_cast<int>(graph_.elements.size()); }
  const GraphLink* Next() const {
    return next_link_ < graph_.links.size() && !entered_[next_link_] ? &graph_.links[next_link_]
                                                                     : nullptr;
  }

  void Word(const std::string& word) {
    if (!text_.empty()) text_ += ' ';
    text_ += word;
  }

  void Operator(const GraphLink& link) {
    const std::string mark = link.all_pads ? ":" : "!";
    Word(mark);
    if (link.caps.empty()) return;
    std::string caps;
    for (const char c : link.caps) {
      if (c == '\\' || c == '!') caps += '\\';
      caps += c;
    }
    Word(caps);
    Word(mark);
  }

  void ByReference(const GraphLink& link) {
    Word(names_[static_cast<size_t>(link.from.element)] + "." + JoinPads(link.from.pads));
    Operator(link);
    Word(names_[static_cast<size_t>(link.to.element)] + "." + JoinPads(link.to.pads));
    last_ = -1;
  }

  /// Writes links, before element `at`, that need no element behind it.
  void LinksBefore(int at) {
    while (const GraphLink* link = Next()) {
      if (link->to.element >= at && !(link->from.element == last_ && link->to.element > at)) return;
      if (link->from.element >= at) return;
      if (link->from.element == last_) {
        if (!link->from.pads.empty()) Word("." + JoinPads(link->from.pads));
        Operator(*link);
        Word(names_[static_cast<size_t>(link->to.element)] + "." + JoinPads(link->to.pads));
        last_ = -1;
      } else {
        ByReference(*link);
      }
      ++next_link_;
    }
  }

  /// Elements from `next_` to `end`.
  void Content(int end) {
    while (next_ < end) {
      LinksBefore(next_);
      const int at = next_;
      const auto& element = graph_.elements[static_cast<size_t>(at)];
      const GraphLink* entry = EntryOf(at);
      if (entry != nullptr) {
        Entry(*entry);
        entered_[static_cast<size_t>(entry - graph_.links.data())] = true;
      }
      Element(element);
      ++next_;
      if (element.is_bin) {
        int inner_end = at + 1;
        while (inner_end < end && Inside(inner_end, at)) ++inner_end;
        last_ = -1;
        Content(inner_end);
        LinksBefore(inner_end);
        Word(")");
        if (entry == graph_.links.data() + next_link_) ++next_link_;
      } else {
        if (entry != nullptr) ++next_link_;
        last_ = at;
      }
    }
  }

  bool Inside(int element, int bin) const {
    for (int at = graph_.elements[static_cast<size_t>(element)].bin; at >= 0;
         at = graph_.elements[static_cast<size_t>(at)].bin)
      if (at == bin) return true;
    return false;
  }

  /// The link that leads into the element or bin at `at` from what is already written.
  const GraphLink* EntryOf(int at) const {
    size_t link = next_link_;
    const bool is_bin = graph_.elements[static_cast<size_t>(at)].is_bin;
    if (is_bin)
      while (link < graph_.links.size() && Inside(graph_.links[link].from.element, at)) ++link;
    if (link >= graph_.links.size() || entered_[link]) return nullptr;
    const auto& candidate = graph_.links[link];
    const int to = candidate.to.element;
    if (candidate.from.element >= at && candidate.from.element != last_) return nullptr;
    if (to == at) return &candidate;
    if (!is_bin || !Inside(to, at)) return nullptr;
    for (int first = at + 1; first <= to; ++first)
      if (!graph_.elements[static_cast<size_t>(first)].is_bin)
        return first == to ? &candidate : nullptr;
    return nullptr;
  }

  void Entry(const GraphLink& link) {
    if (link.from.element != last_)
      Word(names_[static_cast<size_t>(link.from.element)] + "." + JoinPads(link.from.pads));
    else if (!link.from.pads.empty())
      Word("." + JoinPads(link.from.pads));
    Operator(link);
    if (!link.to.pads.empty()) Word("." + JoinPads(link.to.pads));
  }

  void Element(const GraphElement& element) {
    if (!element.uri.empty()) return Word(EscapeLaunchValue(element.uri));
    Word(element.is_bin ? element.factory + ".(" : element.factory);
    if (!element.name.empty()) Word("name=" + EscapeLaunchValue(element.name));
    for (const auto& property : element.properties)
      Word(property.name + "=" + EscapeLaunchValue(property.value));
    for (const auto& preset : element.presets) Word("@preset=" + EscapeLaunchValue(preset));
  }

  const Graph& graph_;
  std::vector<std::string> names_;
  std::string text_;
  /// Links into bins that are written, and whose turn comes when the bin is closed.
  std::vector<bool> entered_;
  int next_ = 0;          ///< the next element to write
  size_t next_link_ = 0;  ///< the next link to write
  int last_ = -1;         ///< the end of the chain that can go on; -1: none
};

}  // namespace

Result<std::string> PrintLaunch(const Graph& graph) { return Printer(graph).Print(); }

}  // namespace sg
