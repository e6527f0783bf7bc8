#include <fmt/format.h>

#include <algorithm>

#include "detector/heads/family.h"
#include "detector/heads/recognisers.h"

namespace sg {

const std::vector<HeadFamily>& HeadFamilies() {
  static const std::vector<HeadFamily> kFamilies = {
      SetPredictionFamily(), DenseRowsFamily(),  FinalBoxesFamily(),   NmsSelectionsFamily(),
      LevelsFamily(),        AnchorGridFamily(), CoverageGridFamily(),
  };
  return kFamilies;
}

const HeadFamily& FamilyOf(HeadKind kind) {
  for (const HeadFamily& family : HeadFamilies()) {
    if (family.kind == kind) return family;
  }
  SG_CHECK(false && "a head kind without a row in HeadFamilies()");
  return HeadFamilies().front();
}

std::string CppString(const std::string& text) {
  std::string literal = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      literal += '\\';
      literal += c;
    } else if (c >= ' ' && c < 0x7f && c != '?') {
      literal += c;
    } else {
      literal += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    }
  }
  return literal + "\"";
}

std::string Filled(const std::string& text, const TextValues& values) {
  std::string filled;
  size_t at = 0;
  for (size_t open = 0; (open = text.find('@', at)) != std::string::npos;) {
    filled += text.substr(at, open - at);
    const size_t close = text.find('@', open + 1);
    auto value = values.end();
    if (close != std::string::npos) {
      const std::string key = text.substr(open + 1, close - open - 1);
      value = std::find_if(values.begin(), values.end(),
                           [&](const auto& entry) { return entry.first == key; });
    }
    filled += value == values.end() ? "@" : value->second;
    at = value == values.end() ? open + 1 : close + 1;
  }
  return filled + text.substr(at);
}

std::string CppDims(const std::vector<int>& dims) {
  std::string text;
  for (const int dim : dims)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", std::max(dim, 0));
  return "{" + text + "}";
}

std::string CppFloat(float value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text + "f";
}

std::string CppAddBox(const Head& head, const std::string& element, const std::string& rest) {
  const auto value = [&](int i) { return fmt::format(fmt::runtime(element), i); };
  const bool fraction = head.box_unit == BoxUnit::kFraction;
  const std::string x = fraction ? " * out.width" : "";
  const std::string y = fraction ? " * out.height" : "";
  const auto scaled = [&](const std::string& sum, const std::string& by) {
    return by.empty() ? sum : "(" + sum + ")" + by;
  };
  std::string corners;
  switch (head.box_format) {
    case BoxFormat::kCxcywh: {
      const std::string w = value(2) + " / 2";
      const std::string h = value(3) + " / 2";
      corners = fmt::format("{}, {},\n            {}, {}", scaled(value(0) + " - " + w, x),
                            scaled(value(1) + " - " + h, y), scaled(value(0) + " + " + w, x),
                            scaled(value(1) + " + " + h, y));
      break;
    }
    case BoxFormat::kXyxy:
      corners =
          fmt::format("{}{}, {}{}, {}{}, {}{}", value(0), x, value(1), y, value(2), x, value(3), y);
      break;
    case BoxFormat::kYxyx:
      corners =
          fmt::format("{}{}, {}{}, {}{}, {}{}", value(1), x, value(0), y, value(3), x, value(2), y);
      break;
    case BoxFormat::kXywh:
      corners = fmt::format("{}{}, {}{},\n            {}, {}", value(0), x, value(1), y,
                            scaled(value(0) + " + " + value(2), x),
                            scaled(value(1) + " + " + value(3), y));
      break;
  }
  return fmt::format("out.add({},\n            {});", corners, rest);
}

}  // namespace sg
