// What the page asks: the sweeps of a database as JSON, below /api/v1.
//
//   /sweeps                                  all, the latest first
//   /sweeps/NAME                             one, with its space file, doubts and best trial
//   /sweeps/NAME/trials?since=REVISION       its trials, those that changed since (trial_rows.h)
//   /sweeps/NAME/trials?first=N              the best and newest of very many, or all
//   /sweeps/NAME/trials?limit=&offset=&sort=&order=&status=   a page of them
//   /sweeps/NAME/trials/N                    one with attempts, decisions, checkpoints, reports
//   /sweeps/NAME/trials/N/log?attempt=&from= what it printed (charts.h)
//   /sweeps/NAME/curves?trials=1,2&metric=M  values by iteration and time
//   /sweeps/NAME/metrics                     the names of what is reported
//   /sweeps/NAME/ranges?metric=M             its last, least and greatest value in each trial
//   /sweeps/NAME/course                      the best value over time, rungs, what was saved
//   /sweeps/NAME/front, /importance, /timeline
//   /sweeps/NAME/workers                     workers, devices and what waits, as the tuner tells
//   /sweeps/NAME/actions                     POST: commands to its tuner (page_action.h)
//   /queue                                   a head's: whose turn is next, and why each waits
//   /cluster                                 its pools, their workers, and what waits for them
//   /events                                  server-sent events: the database has changed
//
// Answers about a sweep carry an ETag that changes with each commit. Where the file at the
// database's path is replaced by another one, that one is answered from; where it is gone, the
// answer is 503 until it is back.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/status.h"
#include "tuner/cli/head/submit_again.h"
#include "tuner/control/control_request.h"
#include "tuner/http/http_message.h"
#include "tuner/http/page_guard.h"
#include "tuner/page/aside.h"
#include "tuner/page/metric_ranges.h"
#include "tuner/page/sweep_course.h"
#include "tuner/page/trial_rows.h"
#include "tuner/sqlite/database.h"

namespace tune {

class PageApi {
 public:
  // What takes seconds: who asks waits for it, or is told to ask again (`is_behind`).
  enum class SlowAnswers { kAtOnce, kAside };
  // `life`: a word that no other process has, for revisions. Errors are one line for a person.
  static Result<std::unique_ptr<PageApi>> Open(const std::string& db_path, std::string life,
                                               const Clock& clock, SlowAnswers slow_answers,
                                               SubmitsAgain again = nullptr);

  // Of a path below /api/; others are answered with 404. `rights`: what this client is offered
  // (that it takes no more is seen to by the guard).
  HttpAnswer Answer(const HttpRequest& request, PageRights rights);

  // The data of the next event: a number that rises with each commit; "" while none has come since
  // the last call.
  std::string NextEvent();

 private:
  // What is known of a sweep that was asked about.
  struct Followed {
    int64_t created_us = 0;  // A sweep may be deleted, and another one get its id.
    TrialRows trials;
    SweepCourse course;
    std::deque<MetricRanges> ranges = {};  // The latest first.
  };
  // A sweep that is over stays as it is until it is resumed, which leaves it without this end.
  struct EndedSweep {
    int64_t created_us = 0, finished_us = 0;
    std::string status;
    std::string summary;  // As of Summary.
  };
  static constexpr size_t kEndedMax = 20'000;  // A kilobyte each.
  static constexpr size_t kFollowedMax = 4;
  static constexpr size_t kRangesMax = 32;

  PageApi(std::unique_ptr<Database> database, std::string life, const Clock& clock,
          SlowAnswers slow_answers, SubmitsAgain again)
      : database_(std::move(database)),
        life_(std::move(life)),
        clock_(clock),
        slow_answers_(slow_answers),
        again_(std::move(again)),
        importance_(clock),
        compared_(clock) {}

  // kUnavailable: there is no database at the path now.
  Status FollowFile();
  Result<ControlAnswer> ActOn(const std::vector<std::string>& parts, const std::string& body);
  HttpAnswer Act(const std::vector<std::string>& parts, const std::string& body);

  Result<std::string> Body(const std::vector<std::string>& parts, const HttpRequest& request,
                           PageRights rights);
  Result<std::string> BodyOfSweep(const std::string& name, std::string_view part,
                                  const HttpRequest& request, PageRights rights);
  Result<std::string> Sweeps();
  Result<std::string> SummaryOf(const FoundSweep& sweep);
  Result<std::string> Sweep(const FoundSweep& sweep, PageRights rights);
  // An object of `members`, which are made in `aside`, beside the other answers.
  using Members = Result<std::string>(Database& database, const FoundSweep& sweep);
  Result<std::string> Beside(Aside& aside, const FoundSweep& sweep, Members* members);
  Result<std::string> Ranges(const FoundSweep& sweep, const std::string& metric);
  Result<std::string> Course(const FoundSweep& sweep);
  Result<std::string> Trial(const FoundSweep& sweep, int64_t number);
  Followed& Follow(const FoundSweep& sweep);

  std::unique_ptr<Database> database_;
  std::string life_;  // And, after a '-', how often the file was replaced.
  int64_t file_count_ = 0;
  const Clock& clock_;
  const SlowAnswers slow_answers_;
  const SubmitsAgain again_;
  Aside importance_;
  Aside compared_;
  int64_t told_version_ = -1;
  int64_t event_count_ = 0;
  std::deque<Followed> followed_;        // The latest first.
  int64_t followed_count_ = 0;           // Ever: the rows of each have revisions of their own.
  std::map<int64_t, EndedSweep> ended_;  // By id.
};

}  // namespace tune
