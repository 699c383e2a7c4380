// What the page asks: the sweeps of a database as JSON, below /api/v1.
//
//   /api/v1/sweeps                            all, the latest first
//   /api/v1/sweeps/NAME                       one, with its space file, doubts and best trial
//   /api/v1/sweeps/NAME/trials                its trials, without their reports
//   /api/v1/sweeps/NAME/curves?trials=1,2     values by iteration; without `trials` of all
//   /api/v1/sweeps/NAME/trials/N              one with attempts, decisions, checkpoints, reports
//
// Curves come with at most kPointsMax points: of long ones some, of very many trials some, and
// `left_out` says how many trials. Answers carry an ETag that changes with each commit.
//
// Thread rule: one thread.
#pragma once

#include <memory>
#include <string>

#include "core/status.h"
#include "tuner/http/http_message.h"
#include "tuner/sqlite/database.h"

namespace tune {

class PageApi {
 public:
  static constexpr int64_t kPointsMax = 5000;

  // Errors are one line for a person.
  static Result<std::unique_ptr<PageApi>> Open(const std::string& db_path);

  // Of a path below /api/; others are answered with 404.
  HttpAnswer Answer(const HttpRequest& request);

 private:
  explicit PageApi(std::unique_ptr<Database> database) : database_(std::move(database)) {}

  Result<std::string> Sweeps();
  Result<std::string> Sweep(const std::string& name);
  Result<std::string> Trials(const std::string& name);
  Result<std::string> Curves(const std::string& name, const HttpRequest& request);
  Result<std::string> Trial(const std::string& name, int64_t number);

  std::unique_ptr<Database> database_;
};

}  // namespace tune
