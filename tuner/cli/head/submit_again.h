// A sweep or job of a head that is submitted again, as it was or changed: `tune submit --again
// NAME`, and the action `again` of the head's page:
//
//   {"again": {"name": "longer", "samples": 20, "settings": ["space.lr.uniform=[0.001, 0.1]"]}}
//
// It is a new one, of the space file that the earlier one has now, and follows none. Where that was
// submitted from another machine its folder is the package that the head keeps; else it is the
// folder as it is now.
//
// Thread rule: pure functions, but for SubmitAgain: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/status.h"

namespace tune {

struct AgainOptions {
  std::string sweep;                // The earlier one.
  std::optional<std::string> name;  // Nothing: the earlier one's, with a number behind it.
  std::optional<int64_t> samples;
  std::optional<uint64_t> seed;       // Nothing: the space file's, or one is drawn.
  std::vector<std::string> settings;  // KEY=VALUE of the space file.
};

// Whether an action is this one.
bool IsAgain(std::string_view body);
// kInvalidArgument says what is wrong with it.
Result<AgainOptions> ReadAgain(std::string_view body, std::string_view sweep);
std::string EncodeAgain(const AgainOptions& again);

// The name that it got. Errors are one line; kUnavailable: no head holds the database.
using SubmitsAgain = std::function<Result<std::string>(const AgainOptions&)>;
Result<std::string> SubmitAgain(const std::string& db_path, const AgainOptions& again,
                                const Clock& clock);

}  // namespace tune
