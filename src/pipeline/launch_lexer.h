// The words of gst-launch's grammar, cut as GStreamer's own scanner cuts them: at each place the
// longest token wins, and of equally long ones the first in the order of LaunchTokenKind.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sg {

enum class LaunchTokenKind {
  kAssignment,  ///< name=value
  kPreset,      ///< @preset=name
  kPadRef,      ///< .pad
  kRef,         ///< name. or name.pad
  kBinRef,      ///< factory.(
  kIdentifier,
  kLink,  ///< "!" or ":", or both ends of a caps filter with it
  kUrl,
  kOperator,  ///< one other byte
  kEnd,
};

struct LaunchToken {
  LaunchTokenKind kind = LaunchTokenKind::kEnd;
  size_t begin = 0;
  size_t end = 0;
};

/// The token at or behind `position`, after white space and comments. Linear over a whole text.
LaunchToken NextLaunchToken(std::string_view text, size_t position);

/// What GStreamer makes of a property's value: one pair of double quotes around it and backslashes
/// outside quotes are taken away.
std::string UnescapeLaunchValue(std::string_view raw);

/// `value` as a word for which UnescapeLaunchValue gives `value` again and which is one token.
std::string EscapeLaunchValue(std::string_view value);

}  // namespace sg
