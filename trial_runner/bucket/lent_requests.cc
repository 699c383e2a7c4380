#include "trial_runner/bucket/lent_requests.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "trial_runner/s3_address.h"

namespace tune {
namespace {

// "3/checkpoint_000004.2/data/x" in its parts; no name: it is none of a checkpoint's.
struct LentKey {
  std::string trial, name, rest;
};

LentKey SplitLentKey(std::string_view within) {
  const size_t first = std::min(within.find('/'), within.size());
  const size_t second =
      std::min(within.find('/', std::min(first + 1, within.size())), within.size());
  if (second + 1 >= within.size()) return {};
  return {std::string(within.substr(0, first)),
          std::string(within.substr(first + 1, second - first - 1)),
          std::string(within.substr(second + 1))};
}

bool IsNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

// The attempt's own, as "checkpoint_000004.2-3" of the second one's.
bool IsMadeBy(std::string_view name, AttemptNumber attempt) {
  constexpr std::string_view kBegin = "checkpoint_";
  name = name.substr(0, name.find('-'));
  const size_t dot = std::min(name.find('.'), name.size());
  const std::string_view number = name.substr(std::min(dot + 1, name.size()));
  return name.starts_with(kBegin) && IsNumber(name.substr(kBegin.size(), dot - kBegin.size())) &&
         (number.empty() ? attempt.value == 1 : number == std::to_string(attempt.value));
}

// The names of what is asked for, in order.
std::string NamesOf(const SignStoreRequest& request) {
  std::string names = request.method;
  for (const auto& [name, value] : request.query) names += " " + name;
  return names;
}

}  // namespace

Status CheckLentRequest(const SignStoreRequest& request, const std::string& root) {
  const Status no = InvalidArgument("a worker may not " + request.method + " " + request.key);
  const Result<S3Address> plain = ParseS3Url("s3://bucket/" + request.key);
  if (!plain.ok() || plain->key != request.key || !request.key.starts_with(root + "/")) return no;
  const LentKey key = SplitLentKey(std::string_view(request.key).substr(root.size() + 1));
  if (!IsNumber(key.trial)) return no;
  const std::string names = NamesOf(request);
  if (names == "GET" || names == "HEAD") return OkStatus();
  const bool is_own = key.trial == std::to_string(request.ref.trial.value) &&
                      IsMadeBy(key.name, request.ref.attempt);
  const bool is_write = names == "PUT" || names == "PUT partNumber uploadId" ||
                        names == "POST uploads" || names == "POST uploadId" ||
                        names == "DELETE uploadId";
  const bool is_named = request.method == "DELETE" || !request.sha256.empty();
  return is_own && is_write && is_named ? OkStatus() : no;
}

}  // namespace tune
