#include "trial_runner/wire/decode_fields.h"

#include <utility>

#include "core/limits.h"
#include "core/utf8.h"
#include "trial_runner/s3_address.h"

namespace tune {

Status ReadInt(int64_t value, int64_t min, int64_t max, const char* field, int64_t& out) {
  if (value < min || value > max) {
    return InvalidArgument(std::string(field) + ": read " + std::to_string(value) +
                           ", expected at least " + std::to_string(min) +
                           (max == kAny ? "" : " and at most " + std::to_string(max)));
  }
  out = value;
  return OkStatus();
}

Status ReadText(std::string* text, size_t bytes_max, const char* field, std::string& out) {
  if (text->size() > bytes_max) {
    return InvalidArgument(std::string(field) + ": " + std::to_string(text->size()) +
                           " bytes, expected at most " + std::to_string(bytes_max));
  }
  out = std::move(*text);
  return OkStatus();
}

// A text that people see in their terminals: a control character in it, which might do something
// there, becomes '?', and so does what is no UTF-8.
Status ReadLine(std::string* text, size_t bytes_max, const char* field, std::string& out) {
  TUNE_RETURN_IF_ERROR(ReadText(text, bytes_max, field, out));
  if (!IsUtf8(out)) out = ToUtf8(out);
  for (size_t i = 0; i < out.size(); ++i) {
    const auto byte = static_cast<unsigned char>(out[i]);
    // Those of one byte, and C1's in UTF-8 (C2 80 to C2 9F).
    const auto next = i + 1 < out.size() ? static_cast<unsigned char>(out[i + 1]) : 0;
    const bool is_c1 = byte == 0xc2 && next >= 0x80 && next <= 0x9f;
    if (is_c1) out.erase(i + 1, 1);
    if (is_c1 || byte < 0x20 || byte == 0x7f) out[i] = '?';
  }
  return OkStatus();
}

// Empty, or absolute.
Status ReadPath(std::string* path, const char* field, std::string& out) {
  TUNE_RETURN_IF_ERROR(ReadText(path, limits::kPathBytesMax, field, out));
  if (!out.empty() && out.front() != '/') {
    return InvalidArgument(std::string(field) + ": expected an absolute path");
  }
  return OkStatus();
}

Status ReadStoredPath(std::string* path, const char* field, std::string& out) {
  if (!IsS3Url(*path)) return ReadPath(path, field, out);
  TUNE_RETURN_IF_ERROR(ReadText(path, limits::kPathBytesMax, field, out));
  return ParseS3Url(out).status().At(field);
}

Status Absent(const char* field) { return InvalidArgument(std::string(field) + ": is absent"); }

Status CheckCount(int count, size_t max, const std::string& field) {
  if (static_cast<size_t>(count) <= max) return OkStatus();
  return InvalidArgument(field + ": " + std::to_string(count) + ", expected at most " +
                         std::to_string(max));
}

Status Read(const v1::AttemptRef& in, AttemptRef& out) {
  TUNE_RETURN_IF_ERROR(ReadInt(in.trial(), 0, kAny, "ref.trial", out.trial.value));
  TUNE_RETURN_IF_ERROR(ReadInt(in.attempt(), 1, kAny, "ref.attempt", out.attempt.value));
  TUNE_RETURN_IF_ERROR(ReadInt(in.epoch(), 1, kAny, "ref.epoch", out.epoch.value));
  return ReadInt(in.sweep(), 0, kAny, "ref.sweep", out.sweep.value);
}

// Part of a path on some disk: digits and nothing else.
Status ReadDigits(const std::string& in, size_t count, const std::string& field, std::string& out) {
  out = in;
  const bool is_digits =
      in.size() == count && in.find_first_not_of("0123456789abcdef") == std::string::npos;
  return is_digits ? OkStatus()
                   : InvalidArgument(field + ": expected " + std::to_string(count) +
                                     " lower-case hexadecimal digits");
}

Status Read(const v1::Package& in, const std::string& field, PackageName& out, int64_t bytes_max) {
  TUNE_RETURN_IF_ERROR(ReadDigits(in.sha256(), 64, field + ".sha256", out.sha256));
  return ReadInt(in.bytes(), 1, bytes_max, (field + ".bytes").c_str(), out.bytes);
}

}  // namespace tune
