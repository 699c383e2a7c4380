// TensorBoard's event files, record by record: scalars, and what its HParams tab shows.
//
// A record is a length, its checksum, an Event message, its checksum (the TFRecord format); an
// event file is records one after another. Field numbers are those of tensorboard/compat/proto
// (event, summary, tensor) and tensorboard/plugins/hparams (api, plugin_data).
//
// The functions return whole records, ready to be appended.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/configuration.h"
#include "core/metric.h"
#include "core/time.h"
#include "search/space.h"

namespace tune {

// A searched parameter as a column of the HParams tab.
struct HParam {
  enum class Type { kString = 1, kBool = 2, kFloat64 = 3 };  // As DataType.
  struct Interval {
    double lo = 0;
    double hi = 0;
  };

  std::string name;
  Type type = Type::kFloat64;
  std::vector<Value> values;         // What it can be, of a list.
  std::optional<Interval> interval;  // Of a number between two ends.
};

// Constants are left out.
std::vector<HParam> HParamsOf(const SearchSpace& space);

enum class SessionEnd { kSuccess = 1, kFailure = 2 };  // As Status.

// The first of each file.
std::string FileVersionRecord(Instant at);
// Of a report: a scalar for each metric, as a 32-bit float.
std::string ScalarsRecord(Instant at, int64_t step, const Metrics& metrics);
// Of the whole sweep, in the folder above its trials'.
std::string ExperimentRecord(Instant at, const std::vector<HParam>& hparams,
                             const std::vector<std::string>& metrics);
// Of a trial. Its hparams have the types of `hparams`; a value that is none of TensorBoard's is
// its JSON.
std::string SessionStartRecord(Instant at, const Configuration& config,
                               const std::vector<HParam>& hparams);
std::string SessionEndRecord(Instant at, SessionEnd end);

// What an event file holds that may have been cut short.
struct WholeRecords {
  size_t byte_count = 0;  // Of the records at its front that are whole.
  int64_t count = 0;
  int64_t last_step = 0;  // The highest.
  bool has_end = false;   // A session's end is the last of them.
};
WholeRecords FindWholeRecords(std::string_view file);

// The name of an event file that was begun at that time.
std::string EventFileName(Instant at);

}  // namespace tune
