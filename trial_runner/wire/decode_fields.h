// Fields of messages from their wire form, which is used up. Errors name the field, what was read
// and what was expected.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "core/ids.h"
#include "core/limits.h"
#include "core/status.h"
#include "proto/tune/v1/tune.pb.h"
#include "trial_runner/messages.h"

namespace tune {

inline constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

Status ReadInt(int64_t value, int64_t min, int64_t max, const char* field, int64_t& out);
Status ReadText(std::string* text, size_t bytes_max, const char* field, std::string& out);
// A text that people see in their terminals: a control character in it, which might do something
// there, becomes '?', and so does what is no UTF-8.
Status ReadLine(std::string* text, size_t bytes_max, const char* field, std::string& out);
// Empty, or absolute.
Status ReadPath(std::string* path, const char* field, std::string& out);
// Likewise, or in an object store.
Status ReadStoredPath(std::string* path, const char* field, std::string& out);
Status Absent(const char* field);
Status CheckCount(int count, size_t max, const std::string& field);
Status Read(const v1::AttemptRef& in, AttemptRef& out);
// Part of a path on some disk: digits and nothing else.
Status ReadDigits(const std::string& in, size_t count, const std::string& field, std::string& out);
Status Read(const v1::Package& in, const std::string& field, PackageName& out,
            int64_t bytes_max = limits::kPackageBytesMax);

}  // namespace tune
