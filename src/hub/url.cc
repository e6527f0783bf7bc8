#include "hub/url.h"

#include <fmt/format.h>

#include <algorithm>

namespace sg {
namespace {

bool IsAlnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Where the port's ':' is; npos without one. An IPv6 address has its own inside brackets.
size_t PortColon(std::string_view authority) {
  const size_t bracket = authority.rfind(']');
  return authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
}

}  // namespace

std::string Url::Origin() const {
  const std::string default_port = scheme == "https" ? "443" : scheme == "http" ? "80" : "";
  return scheme + "://" + host + ":" + (port.empty() ? default_port : port);
}

std::string Url::QueryValue(std::string_view name) const {
  std::string_view rest = query;
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const size_t equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == name) {
      return PercentDecoded(pair.substr(equals + 1));
    }
  }
  return "";
}

Result<Url> ParseUrl(const std::string& text) {
  const Error wrong = UserError(fmt::format("{}: is not a URL", ShownUrl(text)));
  const size_t scheme_end = text.find("://");
  if (scheme_end == std::string::npos || scheme_end == 0) return wrong;
  Url url;
  url.scheme = Lower(std::string_view(text).substr(0, scheme_end));
  for (const char c : url.scheme) {
    if (!IsAlnum(c) && c != '+' && c != '-' && c != '.') return wrong;
  }
  std::string_view rest = std::string_view(text).substr(scheme_end + 3);
  rest = rest.substr(0, rest.find('#'));
  if (const size_t mark = rest.find('?'); mark != std::string_view::npos) {
    url.query = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
  }
  const size_t slash = std::min(rest.find('/'), rest.size());
  url.path = slash == rest.size() ? "/" : std::string(rest.substr(slash));
  std::string_view authority = rest.substr(0, slash);
  if (const size_t at = authority.rfind('@'); at != std::string_view::npos) {
    authority.remove_prefix(at + 1);
  }
  if (const size_t colon = PortColon(authority); colon != std::string_view::npos) {
    url.port = authority.substr(colon + 1);
    authority = authority.substr(0, colon);
    if (!std::all_of(url.port.begin(), url.port.end(),
                     [](char c) { return c >= '0' && c <= '9'; })) {
      return wrong;
    }
  }
  url.host = Lower(authority);
  if (url.host.empty() && url.scheme != "file") return wrong;
  for (const char c : url.host) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == '\\') return wrong;
  }
  return url;
}

std::string PercentDecoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && HexValue(text[i + 1]) >= 0 &&
        HexValue(text[i + 2]) >= 0) {
      decoded += static_cast<char>(HexValue(text[i + 1]) * 16 + HexValue(text[i + 2]));
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

std::string PercentEncoded(std::string_view text, bool keep_slash) {
  std::string encoded;
  for (const char c : text) {
    if (IsAlnum(c) || c == '-' || c == '.' || c == '_' || c == '~' || (keep_slash && c == '/')) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

std::string ShownUrl(const std::string& url) {
  std::string shown = url.substr(0, url.find_first_of("?#"));
  const size_t scheme_end = shown.find("://");
  if (scheme_end == std::string::npos) return shown;
  const size_t begin = scheme_end + 3;
  const size_t slash = std::min(shown.find('/', begin), shown.size());
  const size_t at = shown.rfind('@', slash);
  if (at != std::string::npos && at >= begin && at < slash) shown.erase(begin, at + 1 - begin);
  return shown;
}

}  // namespace sg
