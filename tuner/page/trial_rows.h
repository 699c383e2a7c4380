// The trials of a sweep as rows of JSON, each with the revision at which it last changed, so that a
// page that was here before is given what has changed since.
//
// Thread rule: the database's thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/sqlite/database.h"

namespace tune {

// A page of a sweep's trials, in an order and of a kind: ?limit=100&offset=200&sort=best_value
// &order=desc&status=TERMINATED.
struct TrialPage {
  static constexpr int64_t kLimitMax = 10'000;

  int64_t limit = 100;
  int64_t offset = 0;
  std::string sort = "number";  // A column that has an order: all but the last five.
  bool is_descending = false;
  std::string status;  // "": any.
};
// Nothing: none of these is there. kInvalidArgument says what is wrong.
Result<std::optional<TrialPage>> ReadTrialPage(const std::map<std::string, std::string>& query);

class TrialRows {
 public:
  // `life`: a word of this object's; a revision that another one gave is not known here.
  TrialRows(const FoundSweep& sweep, std::string life)
      : experiment_(sweep.id), has_limits_(sweep.has_limits()), life_(std::move(life)) {}

  int64_t experiment() const { return experiment_; }

  // Reads what has changed. A number may vanish (tune delete and a new sweep under the old id): all
  // is new then.
  Status Refresh(Database& database);

  // {"revision":"a3f.17","is_whole":false,"columns":[...],"rows":[[...]],"left_out":0}: the rows
  // that changed after `since`; all of them where `since` is "" or not known.
  std::string Answer(std::string_view since) const;

  // What is seen first of very many: the best and the newest, about `count` rows, without reading
  // the others. "left_out" says how many follow; the revision is "", so that who sends it is given
  // all. Needs no Refresh.
  static Result<std::string> First(Database& database, const FoundSweep& sweep, int64_t count);

  // Trials that have no value to be ordered by come last, those with the same one by number.
  // "left_out": how many of the kind are not on the page; the revision is "".
  static Result<std::string> Page(Database& database, const FoundSweep& sweep,
                                  const TrialPage& page);

  // Of each trial by number: which it is, and the revision at which its row changed last.
  struct Mark {
    int64_t id = 0;
    int64_t number = 0;
    int64_t revision = 0;  // From 1.
  };
  std::vector<Mark> Marks() const;

 private:
  struct Row {
    int64_t id = 0;
    uint64_t fingerprint = 0;  // Of the columns that change.
    int64_t revision = 0;
    std::string json;  // "[...]".
  };

  static Status ReadRow(Database& database, bool has_limits, Row& row);
  // Of `count` trials these.
  static Result<std::string> AnswerOf(Database& database, bool has_limits, std::vector<Row> rows,
                                      int64_t count);
  static Result<std::string> ReadColumns(Database& database, bool has_limits);

  int64_t experiment_;
  bool has_limits_;
  std::string life_;
  int64_t revision_ = 0;
  int64_t whole_since_ = 0;      // Revisions before this one are answered with all rows.
  std::string columns_;          // "a","b".
  std::map<int64_t, Row> rows_;  // By number.
};

}  // namespace tune
