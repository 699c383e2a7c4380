// The outcome of an operation that can fail for a reason outside the program: the network, a disk,
// a device, a person. Bugs do not travel as a Status; they die in TUNE_CHECK (core/check.h).
//
// Thread rule: values; no shared state.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/check.h"

namespace tune {

enum class StatusCode {
  kOk,
  kInvalidArgument,     // The user's fault: a command line, a file, a value. Exit status 2.
  kNotFound,            // What was named does not exist.
  kFailedPrecondition,  // Right in itself, impossible in the present state (another tuner holds the
                        // database).
  kPermissionDenied,    // Not for whoever asks: his key says so.
  kUnavailable,         // May work when tried again: a lost connection, a busy database.
  kResourceExhausted,   // Disk or memory is full; retryable once there is room.
  kDataLoss,            // Stored bytes are not what was written.
  kInternal,            // Permanent, and nobody's fault that we could name.
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  // One line for a person: the place, what was read, what was expected, the remedy. Empty when ok.
  const std::string& message() const { return message_; }

  // The same failure with `place` and ": " before its message.
  Status At(std::string_view place) const;

  friend bool operator==(const Status&, const Status&) = default;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status OkStatus() { return Status(); }
Status InvalidArgument(std::string message);
Status NotFound(std::string message);
Status FailedPrecondition(std::string message);
Status PermissionDenied(std::string message);
Status Unavailable(std::string message);
Status ResourceExhausted(std::string message);
Status DataLoss(std::string message);
Status Internal(std::string message);

// Either a value or the reason why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    TUNE_CHECK(!status_.ok());
  }

  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }

  T& operator*() & {
    TUNE_CHECK(ok());
    return *value_;
  }
  const T& operator*() const& {
    TUNE_CHECK(ok());
    return *value_;
  }
  T&& operator*() && {
    TUNE_CHECK(ok());
    return *std::move(value_);
  }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace tune

#define TUNE_RETURN_IF_ERROR(expression)                                                     \
  do {                                                                                       \
    if (::tune::Status tune_status_ = (expression); !tune_status_.ok()) return tune_status_; \
  } while (false)

#define TUNE_CONCAT_INNER(a, b) a##b
#define TUNE_CONCAT(a, b) TUNE_CONCAT_INNER(a, b)
#define TUNE_ASSIGN_OR_RETURN_IMPL(result, declaration, expression) \
  auto result = (expression);                                       \
  if (!result.ok()) return result.status();                         \
  declaration = *std::move(result)

// TUNE_ASSIGN_OR_RETURN(const Space space, ParseSpace(text));
#define TUNE_ASSIGN_OR_RETURN(declaration, expression) \
  TUNE_ASSIGN_OR_RETURN_IMPL(TUNE_CONCAT(tune_result_, __LINE__), declaration, expression)
