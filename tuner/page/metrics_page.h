// What Prometheus is told of a database at /metrics, in its text format (version 0.0.4).
//
// Names begin with tune_ and end with their base unit; labels are of closed sets alone. A trial, a
// worker or a sweep is no label: a database takes any number of them, and each would stay a series
// in Prometheus for as long as it keeps data. Metrics named tune_sweep_ are of the sweep that runs
// now, of several on a head the latest, and absent while none does; all others are of the whole
// database.
//
// Counters never fall while the process lives: deleting a sweep takes nothing away from them.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/clock.h"
#include "core/status.h"
#include "tuner/http/http_message.h"
#include "tuner/sqlite/database.h"

namespace tune {

class MetricsPage {
 public:
  // `version`: of the program.
  static Result<std::unique_ptr<MetricsPage>> Open(const std::string& db_path, std::string version,
                                                   const Clock& clock);

  // Of one state of the database, or of another one that was put in its place. 503 where there is
  // none now, and 500 where it cannot be read: the scrape has failed then.
  HttpAnswer Answer();

  // Counts a request that was answered, by the first digit of its status.
  void CountAnswer(int status) { ++answers_[status / 100]; }

 private:
  // A counter's value from a number in the database that may fall.
  struct Counter {
    int64_t seen = 0, total = 0;
  };

  MetricsPage(std::unique_ptr<Database> database, std::string version, const Clock& clock)
      : database_(std::move(database)), version_(std::move(version)), clock_(clock) {}

  Result<std::string> Read();
  Result<std::string> ReadSweeps();
  Result<std::string> ReadTrials();
  Result<std::string> ReadAttempts();
  Result<std::string> ReadWorkers();
  Result<std::string> ReadSizes();
  int64_t Count(const std::string& series, int64_t seen);

  std::unique_ptr<Database> database_;
  const std::string version_;
  const Clock& clock_;
  std::map<std::string, Counter> counters_;  // By series.
  std::map<int, int64_t> answers_;           // By the first digit of their status.
};

}  // namespace tune
