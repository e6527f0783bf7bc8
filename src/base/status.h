// Expected failures as values. A function that can fail returns Status, or Result<T> when it also
// has something to return; both are [[nodiscard]]. A bug is not a Status: SG_CHECK ends the
// process.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace sg {

/// Why something failed, in the terms a user can act on. The numbers are the exit codes.
enum class ErrorKind {
  kGate = 1,           ///< a gate or check said no
  kUser = 2,           ///< the input is wrong
  kEnvironment = 3,    ///< something is missing on this machine
  kUnsupported = 4,    ///< the input is understood, and not supported
  kInternal = 5,       ///< our own fault
  kInterrupted = 130,  ///< the user said stop
};

/// The kind's name in JSON and in the worker protocol ("user", "environment", …).
const char* ErrorKindName(ErrorKind kind);
/// The inverse of ErrorKindName; kInternal for a name that is not one.
ErrorKind ErrorKindFromName(const std::string& name);

/// One line for the user: what failed, where (file:line or URL), why, and what to do.
struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string message;
};

/// Success, or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_.has_value(); }
  /// REQUIRES: !ok().
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

inline Status OkStatus() { return {}; }
inline Error GateError(std::string message) { return {ErrorKind::kGate, std::move(message)}; }
inline Error UserError(std::string message) { return {ErrorKind::kUser, std::move(message)}; }
inline Error EnvironmentError(std::string message) {
  return {ErrorKind::kEnvironment, std::move(message)};
}
inline Error UnsupportedError(std::string message) {
  return {ErrorKind::kUnsupported, std::move(message)};
}
inline Error InternalError(std::string message) {
  return {ErrorKind::kInternal, std::move(message)};
}
inline Error InterruptedError() { return {ErrorKind::kInterrupted, "interrupted"}; }

/// A T, or an Error.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return value_.has_value(); }
  /// REQUIRES: !ok().
  const Error& error() const { return *error_; }
  Status status() const { return ok() ? Status() : Status(*error_); }

  /// REQUIRES: ok().
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  std::optional<Error> error_;
};

namespace internal {
[[noreturn]] void CheckFailed(const char* file, int line, const char* expression,
                              const std::string& operands);
}  // namespace internal

}  // namespace sg

/// Returns the Error of `expression` from this function, if it has one.
#define SG_RETURN_IF_ERROR(expression)                                                      \
  do {                                                                                      \
    if (const auto& sg_status_ = (expression); !sg_status_.ok()) return sg_status_.error(); \
  } while (false)

#define SG_CONCAT_INNER_(a, b) a##b
#define SG_CONCAT_(a, b) SG_CONCAT_INNER_(a, b)
#define SG_ASSIGN_OR_RETURN_(result, lhs, expression) \
  auto result = (expression);                         \
  if (!result.ok()) return result.error();            \
  lhs = *std::move(result)

/// `SG_ASSIGN_OR_RETURN(auto x, F());`: x is F()'s value, or this function returns F()'s Error.
#define SG_ASSIGN_OR_RETURN(lhs, expression) \
  SG_ASSIGN_OR_RETURN_(SG_CONCAT_(sg_result_, __LINE__), lhs, expression)

/// Ends the process with both operands printed unless a == b (==, <= and so on are passed as op).
#define SG_CHECK_OP(a, op, b)                                                      \
  do {                                                                             \
    if (!((a)op(b)))                                                               \
      ::sg::internal::CheckFailed(__FILE__, __LINE__, #a " " #op " " #b,           \
                                  std::to_string(a) + " vs " + std::to_string(b)); \
  } while (false)

#define SG_CHECK(condition)                                                            \
  do {                                                                                 \
    if (!(condition)) ::sg::internal::CheckFailed(__FILE__, __LINE__, #condition, ""); \
  } while (false)
