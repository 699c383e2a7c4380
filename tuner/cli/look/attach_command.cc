#include "tuner/cli/look/attach_command.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "tuner/cli/look/living_state.h"
#include "tuner/cli/look/stored_snapshot.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/words/complain.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {
namespace {

constexpr Duration kLookAtSweepEvery = Milliseconds(500);
constexpr int kExitLeft = 130;

// One look at the sweep.
struct Look {
  SweepSnapshot snapshot;
  std::vector<EndedTrial> ended;
  EarlierHistory earlier;               // Of the first look alone.
  std::string waits;                    // Why nothing of it runs.
  std::optional<SweepSummary> summary;  // It has ended.
};

class Watch {
 public:
  Watch(const AttachOptions& options, const Clock& clock) : options_(options), clock_(clock) {}

  // Opened anew each time: a watcher must not keep the WAL from being folded back.
  Result<Look> Take() {
    TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database,
                          OpenForQueries(options_.db_path));
    const std::optional<LockHolder> holder = FindLockHolder(options_.db_path);
    if (name_.empty()) {
      name_ = options_.name.empty() && holder ? holder->experiment : options_.name;
    }
    TUNE_ASSIGN_OR_RETURN(FoundSweep sweep, FindSweep(*database, name_));
    TellPaused(options_.db_path, clock_, sweep);
    name_ = sweep.name;
    const Instant now = clock_.Now();
    was_of_head_ |= holder && holder->is_head;
    // A head that was killed is started again, and goes on with it.
    const bool may_go_on = was_of_head_ && sweep.status == "INTERRUPTED" && sweep.given_up.empty();
    const bool is_running = HasTuner(sweep) || may_go_on;
    const bool is_first = !snapshots_.has_value();
    if (is_first) {
      const Instant created{sweep.created_us};
      snapshots_.emplace(is_running && holder ? std::max(created, holder->since) : created);
    }
    Look look;
    if (is_first) {
      TUNE_ASSIGN_OR_RETURN(look.earlier, snapshots_->ReadHistory(*database, sweep));
    }
    TUNE_ASSIGN_OR_RETURN(look.snapshot, snapshots_->Read(*database, sweep, now));
    TUNE_ASSIGN_OR_RETURN(look.ended, snapshots_->ReadEnded(*database, sweep));
    if (is_running) {
      const bool has_head = holder && holder->is_head;
      if (look.snapshot.running.empty()) look.waits = WhyNothingRuns(sweep, may_go_on, has_head);
      return look;
    }
    TUNE_ASSIGN_OR_RETURN(look.summary, snapshots_->ReadSummary(*database, sweep, now));
    return look;
  }

  const std::string& name() const { return name_; }

 private:
  std::string WhyNothingRuns(const FoundSweep& sweep, bool may_go_on, bool has_head) const {
    if (may_go_on && !has_head) {
      return "no head runs it; tune head goes on with it, or tune cluster up where it ran on a "
             "cluster";
    }
    if (may_go_on) {
      return "it was interrupted, as the head's log says why; the head tries again each minute";
    }
    return WhyItWaits(options_.db_path, sweep.name, clock_);
  }

  const AttachOptions& options_;
  const Clock& clock_;
  std::string name_;
  std::optional<StoredSnapshots> snapshots_;
  bool was_of_head_ = false;
};

int ExitStatusOf(const SweepSummary& summary) {
  if (!summary.given_up.empty()) return 3;
  if (summary.status == "INTERRUPTED") return 1;
  return summary.failed_count > 0 ? 3 : 0;
}

}  // namespace

int AttachCommand(const AttachOptions& options, const Clock& clock, const WaitFunction& wait,
                  LiveScreen& screen, std::ostream& out, std::ostream& err) {
  Watch watch(options, clock);
  std::string waited, said;  // As of the last look, which may have been between two trials.
  for (bool is_first = true;; is_first = false) {
    Result<Look> look = watch.Take();
    if (!look.ok()) return Complain(look.status(), err);
    if (is_first) screen.Recall(std::move(look->earlier));
    if (is_first && !look->summary) screen.Say("attached to " + watch.name());
    // What has ended long ago is only summed up.
    if (!is_first || !look->summary) screen.Show(look->snapshot, look->ended, clock.Now());
    if (!look->waits.empty() && look->waits == waited && waited != said) {
      said = waited;
      screen.Say(watch.name() + " waits: " + said);
    }
    waited = look->waits;
    if (look->summary) {
      out << RenderSummary(*look->summary);
      return ExitStatusOf(*look->summary);
    }
    if (!wait(kLookAtSweepEvery)) {
      screen.Say(
          "detached; the sweep goes on: " + ShellCommand("attach", watch.name(), options.db_path) +
          " shows it again, " + ShellCommand("stop", watch.name(), options.db_path) + " ends it");
      return kExitLeft;
    }
  }
}

}  // namespace tune
