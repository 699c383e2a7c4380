#include "tuner/cli/steer/control_command.h"

#include <memory>
#include <utility>

#include "core/limits.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/keep/bucket_cleanup.h"
#include "tuner/cli/keep/kept_artifacts.h"
#include "tuner/cli/look/living_state.h"
#include "tuner/cli/look/stored_changes.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/words/complain.h"
#include "tuner/cli/words/setting_text.h"
#include "tuner/cli/words/text_table.h"
#include "tuner/control/asker.h"
#include "tuner/control/control_client.h"
#include "tuner/control/control_plan.h"
#include "tuner/sqlite/sqlite_store.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {
namespace {

constexpr Duration kAnswerPatience = Milliseconds(30'000);
// A tuner that has the lock and does not listen is about to (or to end).
constexpr Duration kListenPatience = Milliseconds(10'000);
constexpr Duration kLookAtAnswerEvery = Milliseconds(50);

using Lines = std::vector<std::string>;

// The request as the command line says it; whom it is for is found later.
Result<ControlRequest> ReadRequest(const ControlOptions& options) {
  ControlRequest request;
  request.verb = options.verb;
  request.sweep = options.name;
  request.now = options.now;
  request.worker = options.worker;
  if (options.trial) {
    if (*options.trial < 0 || *options.trial > limits::kSamplesMax) {
      return InvalidArgument("--trial: read " + std::to_string(*options.trial) +
                             ", expected a trial's number, from 0");
    }
    request.trial = TrialNumber{*options.trial};
  }
  if (options.verb != ControlVerb::kSet) return request;
  const Lines& arguments = options.arguments;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool is_name = i == 0 && arguments[i].find('=') == std::string::npos;
    if (is_name && arguments.size() > 1) {
      request.sweep = arguments[i];
      continue;
    }
    TUNE_ASSIGN_OR_RETURN(std::string setting, FullSetting(arguments[i]));
    const std::string name = setting.substr(0, setting.find('='));
    for (const std::string& other : request.settings) {
      if (other.substr(0, other.find('=')) != name) continue;
      return InvalidArgument("tune set: read " + Printable(name) + " twice, expected it once");
    }
    request.settings.push_back(std::move(setting));
  }
  if (request.settings.empty()) {
    return InvalidArgument("tune set: expected [NAME] SETTING=VALUE, such as max_concurrent=4");
  }
  return request;
}

// One try. Nothing: the tuner does not listen, or has just come or gone; look again.
class Command {
 public:
  Command(const ControlOptions& options, const Clock& clock, ControlRequest request,
          std::ostream& err)
      : options_(options), clock_(clock), request_(std::move(request)), err_(err) {}

  Result<std::optional<Lines>> Try() {
    const std::optional<LockHolder> holder = FindLockHolder(options_.db_path);
    return holder ? Ask(*holder) : DoAtRest();
  }

 private:
  Result<FoundSweep> Find(const std::string& name) const {
    TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database,
                          OpenForQueries(options_.db_path));
    return FindRunSweep(*database, name);
  }

  // Of a head's several which one is meant is the person's to say.
  Result<std::string> TheOneThatRuns() const {
    TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database,
                          OpenForQueries(options_.db_path));
    TUNE_ASSIGN_OR_RETURN(const std::vector<FoundSweep> sweeps, ListSweeps(*database));
    std::string names;
    std::string last;
    int64_t count = 0;
    for (const FoundSweep& sweep : sweeps) {
      if (!HasTuner(sweep)) continue;
      last = sweep.name;
      if (++count <= 8) names += (names.empty() ? "" : ", ") + Printable(sweep.name);
    }
    if (count == 0) return FailedPrecondition("the head runs no sweep now");
    if (count == 1) return last;
    return InvalidArgument("the head runs " + std::to_string(count) + " sweeps and jobs, " + names +
                           (count > 8 ? ", ..." : "") + "; name the one that is meant");
  }

  Result<std::optional<Lines>> Ask(const LockHolder& holder) {
    const bool has_just_begun = holder.experiment.empty() && !holder.is_head;
    if (has_just_begun) return std::optional<Lines>();
    ControlRequest request = request_;
    const bool is_of_pool = holder.is_head && request.verb == ControlVerb::kDrain;
    if (is_of_pool) request.sweep = "all";
    if (holder.is_head && request.sweep.empty()) {
      TUNE_ASSIGN_OR_RETURN(request.sweep, TheOneThatRuns());
    }
    if (is_of_pool) return Ask(holder, std::move(request));
    TUNE_ASSIGN_OR_RETURN(const FoundSweep sweep,
                          Find(request.sweep.empty() ? holder.experiment : request.sweep));
    if (!holder.MayRun(sweep.name)) {
      return Unavailable(options_.db_path + ": is held by " + DescribeHolder(holder) +
                         ", which runs " + Printable(holder.experiment) + "; " +
                         Printable(sweep.name) + " can be changed when that one has ended");
    }
    request.sweep = sweep.name;
    return Ask(holder, std::move(request));
  }

  Result<std::optional<Lines>> Ask(const LockHolder& holder, ControlRequest request) {
    request.tuner = holder.pid;
    const auto is_late = [&] {
      err_ << DescribeHolder(holder) << " does not answer; waiting for it for "
           << FormatDuration(kAnswerPatience) << ", and it does what was asked when it goes on\n";
      err_.flush();
    };
    const Result<ControlAnswer> answer =
        AskTuner(ArtifactsDirOf(options_.db_path), request, clock_, kAnswerPatience, is_late);
    if (answer.status().code() == StatusCode::kNotFound) return std::optional<Lines>();
    if (!answer.ok()) return answer.status().At(DescribeHolder(holder));
    TUNE_RETURN_IF_ERROR(answer->status);
    return std::optional<Lines>(answer->lines);
  }

  Result<std::optional<Lines>> DoAtRest() {
    TUNE_RETURN_IF_ERROR(MayChangeAlone());
    TUNE_ASSIGN_OR_RETURN(const FoundSweep sweep, Find(request_.sweep));
    auto store = SqliteStore::Open(options_.db_path, Access::kWrite, clock_.Now());
    if (store.status().code() == StatusCode::kUnavailable) {
      return std::optional<Lines>();  // Another one has come in between.
    }
    if (!store.ok()) return store.status();
    TUNE_ASSIGN_OR_RETURN(const auto experiments, (*store)->ListExperiments());
    for (const StoredExperiment& experiment : experiments) {
      if (experiment.id.value != sweep.id) continue;
      const std::string artifacts_dir = ArtifactsDirOf(options_.db_path);
      KeptArtifacts artifacts(artifacts_dir + "/" + experiment.name);
      ControlRequest request = request_;
      request.sweep = experiment.name;
      request.by = AsksFor();
      TUNE_ASSIGN_OR_RETURN(const int64_t change,
                            (*store)->RecordChange(ChangeOf(request, clock_.Now())));
      Result<Lines> done =
          ControlAtRest(request, experiment, artifacts_dir, **store, artifacts, clock_.Now());
      if (!done.ok()) TUNE_RETURN_IF_ERROR((*store)->ForgetChange(change));
      TUNE_ASSIGN_OR_RETURN(Lines lines, std::move(done));
      artifacts.Finish(kStoragePatience);
      for (std::string& line : artifacts.TakeLines()) lines.push_back(std::move(line));
      return std::optional<Lines>(std::move(lines));
    }
    return NotFound(options_.db_path + ": " + Printable(sweep.name) + " was deleted");
  }

  const ControlOptions& options_;
  const Clock& clock_;
  const ControlRequest request_;
  std::ostream& err_;
};

}  // namespace

int ControlCommand(const ControlOptions& options, const Clock& clock, const WaitFunction& wait,
                   std::ostream& out, std::ostream& err) {
  Result<ControlRequest> request = ReadRequest(options);
  if (!request.ok()) return Complain(request.status(), err);
  Command command(options, clock, *std::move(request), err);
  const Instant give_up_at = clock.Now() + kListenPatience;
  for (;;) {
    const Result<std::optional<Lines>> done = command.Try();
    if (!done.ok()) return Complain(done.status(), err);
    if (*done) {
      for (const std::string& line : **done) out << Printable(line) << "\n";
      return 0;
    }
    if (clock.Now() >= give_up_at || !wait(kLookAtAnswerEvery)) break;
  }
  const std::optional<LockHolder> holder = FindLockHolder(options.db_path);
  return Complain(Unavailable(options.db_path + ": is held by " +
                              (holder ? DescribeHolder(*holder) : "another tuner") +
                              ", which takes no commands at " + ArtifactsDirOf(options.db_path) +
                              "/control.sock"),
                  err);
}

}  // namespace tune
