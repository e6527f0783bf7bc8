// How the report writes figures and foreign texts.
#pragma once

#include <optional>
#include <string>

namespace sg::report {

/// `decimals` digits after a point, whatever the locale; "unknown" for no value or one that is not
/// finite; never "-0.0".
std::string Figure(const std::optional<double>& value, int decimals);
std::string Figure(const std::optional<double>& value, int decimals, const std::string& unit);
template <class Integer>
std::string Whole(const std::optional<Integer>& value) {
  return value ? std::to_string(*value) : "unknown";
}
/// The shortest digits that give the same number: 0.5, 0.003921568627.
std::string Shortest(const std::optional<double>& value);
/// "12.3 MB" or "1.0 kB" (powers of ten), "15.6 GiB" (powers of two); the exact count below 1,000.
std::string Megabytes(const std::optional<uint64_t>& bytes);
std::string Gibibytes(const std::optional<uint64_t>& bytes);
/// "93.0 %" of a fraction.
std::string Percent(const std::optional<double>& fraction, int decimals = 1);

/// Valid UTF-8 on one line: control and direction-changing characters become spaces, bytes that
/// are not UTF-8 become U+FFFD.
std::string OneLine(const std::string& text);
/// The same for a block: newlines stay, a tab stays.
std::string Block(const std::string& text);
/// At most `characters` of a line, with "…" for what was cut out of its middle.
std::string Shortened(const std::string& line, size_t characters);

/// Foreign text as Markdown that shows exactly that text, also inside a table. Empty: "unknown".
std::string Inert(const std::string& text);
/// The same as one item of a list, where a text's first characters could begin a block.
std::string InertItem(const std::string& text);
/// A path, hash or identifier in code style; Inert() when code style could not hold it.
std::string Code(const std::string& text);
/// A fenced block with this text, whatever backticks it has. `language` is our own word.
std::string Fenced(const std::string& text, const std::string& language);

}  // namespace sg::report
