// URLs in parts: enough to compare origins, build hub addresses, and show one without its secrets.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace sg {

struct Url {
  std::string scheme;  ///< lower case
  std::string host;    ///< lower case, without port and user; an IPv6 address in its brackets
  std::string path;    ///< from '/', still percent-encoded
  std::string query;   ///< without '?'
  std::string port;    ///< empty: the scheme's own

  /// "https://host:443": two URLs of one origin may share a token.
  std::string Origin() const;
  /// The decoded value of `name` in the query; empty when it is not there.
  std::string QueryValue(std::string_view name) const;
};

/// Takes scheme://[user@]host[:port][/path][?query][#fragment]. kUser when it is not one.
Result<Url> ParseUrl(const std::string& text);

/// %41 → A. A '%' that is no escape stays.
std::string PercentDecoded(std::string_view text);

/// For one part of a path: all but letters, digits and -._~ escaped; '/' too unless `keep_slash`.
std::string PercentEncoded(std::string_view text, bool keep_slash = false);

/// For people and logs: without user, password, query and fragment.
std::string ShownUrl(const std::string& url);

}  // namespace sg
