#include "pipeline/launch_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "pipeline/launch_lexer.h"
#include "pipeline/launch_shell.h"

namespace sg {
namespace {

/// Brackets deeper than this are refused, as the parser calls itself for each.
constexpr int kMaxDepth = 200;

/// An end of a link whose element may be known by name only.
struct OpenEnd {
  std::string name;  ///< of a reference, resolved at the end of the text
  GraphLinkEnd end;

  bool empty() const { return name.empty() && end.element < 0; }
};

struct Chain {
  OpenEnd first;
  OpenEnd last;
};

struct OpenLink {
  std::string from;
  std::string to;
};

class Parser {
 public:
  Parser(std::string_view original, const std::string& path)
      : original_(original), shell_(ReadShellLine(original)), text_(shell_.text) {
    graph_.sources.push_back({path});
    line_starts_.push_back(0);
    for (size_t i = 0; i < original.size(); ++i)
      if (original[i] == '\n') line_starts_.push_back(i + 1);
    Advance();
  }

  Result<Graph> Parse() {
    Chain all;
    SG_RETURN_IF_ERROR(ChainList(-1, &all));
    if (token_.kind != LaunchTokenKind::kEnd)
      return Fail(token_.begin, fmt::format("unexpected \"{}\"", Text(token_)));
    if (graph_.elements.empty()) return Fail(token_.begin, "the pipeline is empty");
    SG_RETURN_IF_ERROR(ResolveReferences());
    return std::move(graph_);
  }

 private:
  std::string_view Text(const LaunchToken& token) const {
    return text_.substr(token.begin, token.end - token.begin);
  }
  void Advance() { token_ = NextLaunchToken(text_, token_.end); }
  bool Is(LaunchTokenKind kind) const { return token_.kind == kind; }
  bool IsOperator(char c) const {
    return token_.kind == LaunchTokenKind::kOperator && text_[token_.begin] == c;
  }

  GraphPlace Place(size_t begin, size_t end) const {
    GraphPlace place;
    place.source = 0;
    place.begin = shell_.origin[begin];
    place.end = end > begin ? std::min(shell_.origin[end - 1] + 1, original_.size()) : place.begin;
    const auto line = std::upper_bound(line_starts_.begin(), line_starts_.end(), place.begin) - 1;
    place.line = static_cast<int>(line - line_starts_.begin()) + 1;
    place.column = static_cast<int>(place.begin - *line) + 1;
    return place;
  }

  Error Fail(size_t at, const std::string& what) const { return Fail(Place(at, at), what); }
  Error Fail(const GraphPlace& place, const std::string& what) const {
    return UserError(fmt::format("{}: {}", FormatPlace(graph_, place), what));
  }

  Status ChainList(int bin, Chain* all) {
    bool first = true;
    while (!Is(LaunchTokenKind::kEnd) && !IsOperator(')')) {
      Chain chain;
      SG_RETURN_IF_ERROR(OneChain(bin, &chain));
      if (first) all->first = chain.first;
      first = false;
      all->last = chain.last;
    }
    return OkStatus();
  }

  Status OneChain(int bin, Chain* chain) {
    const size_t begin = token_.begin;
    bool closed = false;  // behind a reference or a URI nothing can follow
    if (Is(LaunchTokenKind::kUrl)) {
      chain->last.end = Uri(bin);
    } else if (Is(LaunchTokenKind::kRef)) {
      chain->last = Reference();
    } else {
      SG_RETURN_IF_ERROR(Elementary(bin, chain));
    }
    while (Is(LaunchTokenKind::kLink) && !closed) {
      GraphLink link = Link();
      OpenEnd to;
      const OpenEnd from = chain->last;
      if (from.empty()) return Fail(link.place, "this link has nothing to come from");
      if (Is(LaunchTokenKind::kUrl)) {
        to.end = Uri(bin);
        closed = true;
      } else if (Is(LaunchTokenKind::kRef)) {
        to = Reference();
        closed = true;
      } else {
        SG_RETURN_IF_ERROR(LinkedElementary(bin, link, &to, chain));
      }
      SG_RETURN_IF_ERROR(AddLink(std::move(link), from, std::move(to)));
      if (closed) chain->last = {};
    }
    if (closed) return OkStatus();
    if (!chain->last.name.empty())
      return Fail(begin,
                  fmt::format("the reference \"{}.\" is linked to nothing", chain->last.name));
    if (!chain->last.end.pads.empty())
      return Fail(
          begin, fmt::format("the pad \".{}\" is linked to nothing", chain->last.end.pads.front()));
    return OkStatus();
  }

  /// `pads elementary pads` behind a link; `chain` goes on from there.
  Status LinkedElementary(int bin, const GraphLink& link, OpenEnd* to, Chain* chain) {
    GraphLinkEnd pads;
    Pads(&pads);
    if (Is(LaunchTokenKind::kEnd) || IsOperator(')'))
      return Fail(link.place, "this link leads to nothing");
    Chain next;
    SG_RETURN_IF_ERROR(Elementary(bin, &next));
    *to = next.first;
    to->end.pads.insert(to->end.pads.begin(), pads.pads.begin(), pads.pads.end());
    if (pads.place.known()) to->end.place = pads.place;
    chain->last = next.last;
    return OkStatus();
  }

  Status AddLink(GraphLink link, const OpenEnd& from, OpenEnd to) {
    if (to.empty()) return Fail(link.place, "this link leads to nothing");
    link.from = from.end;
    link.to = std::move(to.end);
    if (!link.from.pads.empty() && !link.to.pads.empty() &&
        link.from.pads.size() != link.to.pads.size())
      return Fail(link.place, fmt::format("{} pads cannot be linked to {}", link.from.pads.size(),
                                          link.to.pads.size()));
    graph_.links.push_back(std::move(link));
    open_links_.push_back({from.name, to.name});
    return OkStatus();
  }

  GraphLinkEnd Uri(int bin) {
    GraphElement element;
    element.uri = UnescapeUri(Text(token_));
    element.bin = bin;
    element.place = Place(token_.begin, token_.end);
    graph_.elements.push_back(std::move(element));
    Advance();
    GraphLinkEnd end;
    end.element = static_cast<int>(graph_.elements.size()) - 1;
    return end;
  }

  /// Backslashes outside quotes go; quotes stay, as GStreamer keeps them.
  static std::string UnescapeUri(std::string_view raw) {
    return raw.front() == '"' ? std::string(raw) : UnescapeLaunchValue(raw);
  }

  OpenEnd Reference() {
    OpenEnd open;
    const auto text = Text(token_);
    const size_t dot = text.find('.');
    open.name = std::string(text.substr(0, dot));
    if (dot + 1 < text.size()) open.end.pads.emplace_back(text.substr(dot + 1));
    open.end.place = Place(token_.begin, token_.end);
    Advance();
    MorePads(&open.end);
    return open;
  }

  void Pads(GraphLinkEnd* end) {
    if (!Is(LaunchTokenKind::kPadRef)) return;
    end->pads.emplace_back(Text(token_).substr(1));
    end->place = Place(token_.begin, token_.end);
    Advance();
    MorePads(end);
  }

  void MorePads(GraphLinkEnd* end) {
    while (IsOperator(',')) {
      const LaunchToken next = NextLaunchToken(text_, token_.end);
      if (next.kind != LaunchTokenKind::kIdentifier) return;
      end->pads.emplace_back(Text(next));
      token_ = next;
      Advance();
    }
  }

  GraphLink Link() {
    GraphLink link;
    const auto text = Text(token_);
    link.place = Place(token_.begin, token_.end);
    link.all_pads = text.front() == ':' || (text.size() > 1 && text.back() == ':');
    if (text.size() > 1) {
      size_t begin = token_.begin + 1;
      size_t end = token_.end - 1;
      while (begin < end && std::string_view(" \t\r\n").find(text_[begin]) != std::string::npos)
        ++begin;
      while (end > begin && std::string_view(" \t\r\n").find(text_[end - 1]) != std::string::npos)
        --end;
      link.caps_place = Place(begin, end);
      for (size_t i = begin; i < end; ++i) {
        if (text_[i] == '\\' && i + 1 < end) ++i;
        link.caps += text_[i];
      }
    }
    Advance();
    return link;
  }

  /// An element, or a bin with what is in it, and the pads behind it.
  Status Elementary(int bin, Chain* chain) {
    GraphElement element;
    element.bin = bin;
    if (Is(LaunchTokenKind::kBinRef) || IsOperator('(')) {
      element.is_bin = true;
      const auto text = Text(token_);
      element.factory =
          IsOperator('(') ? "bin" : std::string(text.substr(0, text.find_first_of(" \t\r\n.")));
    } else if (Is(LaunchTokenKind::kIdentifier)) {
      element.factory = std::string(Text(token_));
    } else {
      return Unexpected();
    }
    element.place = Place(token_.begin, token_.end);
    const size_t open = token_.begin;
    Advance();
    while (Is(LaunchTokenKind::kAssignment) || (!element.is_bin && Is(LaunchTokenKind::kPreset))) {
      Assign(&element);
      Advance();
    }
    const int index = static_cast<int>(graph_.elements.size());
    const bool is_bin = element.is_bin;
    graph_.elements.push_back(std::move(element));
    if (is_bin) {
      SG_RETURN_IF_ERROR(Content(index, open, chain));
    } else {
      chain->first.end.element = chain->last.end.element = index;
    }
    Pads(&chain->last.end);
    return OkStatus();
  }

  Status Content(int bin, size_t open, Chain* chain) {
    if (++depth_ > kMaxDepth) return Fail(open, "brackets are nested too deeply");
    SG_RETURN_IF_ERROR(ChainList(bin, chain));
    if (!IsOperator(')')) return Fail(open, "this bracket is not closed");
    if (graph_.elements.size() == static_cast<size_t>(bin) + 1)
      return Fail(open, "this bin is empty");
    --depth_;
    Advance();
    return OkStatus();
  }

  Error Unexpected() const {
    switch (token_.kind) {
      case LaunchTokenKind::kLink:
        return Fail(token_.begin, "a link where an element is expected");
      case LaunchTokenKind::kAssignment:
        return Fail(token_.begin,
                    fmt::format("the property \"{}\" belongs to no element", Text(token_)));
      default:
        return Fail(token_.begin, fmt::format("\"{}\" where an element is expected", Text(token_)));
    }
  }

  void Assign(GraphElement* element) const {
    const auto text = Text(token_);
    const size_t equals = text.find('=');
    size_t value = equals + 1;
    while (std::string_view(" \t\r\n\v\f").find(text[value]) != std::string::npos) ++value;
    GraphProperty property;
    property.name = std::string(text.substr(0, text.find_first_of("= \t\r\n\v\f")));
    property.value = UnescapeLaunchValue(text.substr(value));
    property.place = Place(token_.begin, token_.end);
    property.value_place = Place(token_.begin + value, token_.end);
    if (token_.kind == LaunchTokenKind::kPreset) {
      element->presets.push_back(property.value);
      return;
    }
    if (property.name == "name") {
      element->name = property.value;
      element->name_place = property.value_place;
      return;
    }
    if (const size_t close = property.value.find(')');
        property.value.starts_with('(') && close != std::string::npos)
      property.type_hint = property.value.substr(1, close - 1);
    element->properties.push_back(std::move(property));
  }

  Status ResolveReferences() {
    std::unordered_map<std::string, int> index;
    const auto names = ImpliedNames(graph_);
    for (size_t i = 0; i < names.size(); ++i) index.emplace(names[i], static_cast<int>(i));
    const auto resolve = [&](const std::string& name, GraphLinkEnd* end) -> Status {
      if (name.empty()) return OkStatus();
      const auto found = index.find(name);
      if (found == index.end())
        return Fail(end->place, fmt::format("no element is named \"{}\"", name));
      end->element = found->second;
      return OkStatus();
    };
    for (size_t i = 0; i < graph_.links.size(); ++i) {
      SG_RETURN_IF_ERROR(resolve(open_links_[i].from, &graph_.links[i].from));
      SG_RETURN_IF_ERROR(resolve(open_links_[i].to, &graph_.links[i].to));
    }
    return OkStatus();
  }

  std::string_view original_;
  LaunchText shell_;
  std::string_view text_;
  std::vector<size_t> line_starts_;
  LaunchToken token_;
  Graph graph_;
  std::vector<OpenLink> open_links_;  ///< parallel to graph_.links
  int depth_ = 0;
};

}  // namespace

Result<Graph> ParseLaunch(std::string_view text, const std::string& path) {
  return Parser(text, path).Parse();
}

}  // namespace sg
