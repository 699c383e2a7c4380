#include "tuner/cli/look/live_view.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/counted.h"
#include "core/posix/environment.h"
#include "trial_runner/command_text.h"
#include "tuner/alike_failures.h"
#include "tuner/best_trial.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/words/text_table.h"
#include "tuner/result_limits.h"

namespace tune {
namespace {

constexpr Duration kRateWindow = Milliseconds(30'000);
constexpr Duration kProgressEvery = Milliseconds(10'000);
constexpr size_t kEndLinesMax = 10;  // More ends at once are told as one line.

std::string Trials(int64_t count) { return Counted(count, "trial"); }

std::string Iterations(int64_t count) { return Counted(count, "iteration"); }

std::string EndLine(const EndedTrial& trial, const std::string& metric) {
  std::string line = "trial " + std::to_string(trial.number) + " ended (" + trial.reason +
                     ") after " + Iterations(trial.iterations);
  if (!trial.best_value.has_value()) return line;
  line += ", best " + Printable(metric) + " " + ShortNumber(*trial.best_value);
  if (trial.best_iteration == trial.iterations) return line;
  return line + " at iteration " + std::to_string(trial.best_iteration) + ", last " +
         (trial.last_value.has_value() ? ShortNumber(*trial.last_value) : "not a number");
}

std::string SavedLine(const SweepSummary& summary) {
  const int64_t full = *summary.iterations_full;
  const int64_t saved = std::max<int64_t>(0, full - summary.iterations_trained);
  const double percent =
      full > 0 ? 100.0 * static_cast<double>(saved) / static_cast<double>(full) : 0;
  return "early stopping  " + Counted(summary.early_count, "trial") + " stopped early" +
         (summary.paused_count > 0 ? ", " + std::to_string(summary.paused_count) + " left paused"
                                   : "") +
         ": " + Iterations(summary.iterations_trained) +
         (summary.iterations_again > 0
              ? " (" + std::to_string(summary.iterations_again) + " of them more than once)"
              : "") +
         " in place of " + std::to_string(full) + ", " + std::to_string(std::llround(percent)) +
         " % saved\n";
}

// "trials 3, 4, 5"; of many the first ones.
std::string Listed(const std::vector<int64_t>& trials) {
  constexpr size_t kListedMax = 8;
  std::string list = trials.size() == 1 ? "trial " : "trials ";
  const size_t listed = trials.size() <= kListedMax ? trials.size() : kListedMax - 1;
  for (size_t i = 0; i < listed; ++i) list += (i == 0 ? "" : ", ") + std::to_string(trials[i]);
  if (listed < trials.size()) list += " and " + std::to_string(trials.size() - listed) + " more";
  return list;
}

}  // namespace

std::string CutoffWords(double cutoff) {
  const double violation = ViolationOfRanked(cutoff);
  return violation == 0 ? ShortNumber(cutoff) : "a violation of " + ShortNumber(violation);
}

std::string EndedOf(const SweepSnapshot& snapshot) {
  const std::string ended = std::to_string(snapshot.ended_count());
  if (snapshot.samples < 0) return Trials(snapshot.ended_count()) + " ended";
  return ended + "/" + Trials(snapshot.samples) + " ended";
}

std::string PausedWords(const SweepSnapshot& snapshot) {
  return snapshot.is_paused ? "PAUSED (tune unpause goes on): " : "";
}

std::string RateWords(double per_second) {
  char digits[32];
  std::snprintf(digits, sizeof digits, per_second < 10 ? "%.2g" : "%.0f", per_second);
  return std::string(digits) + " iterations/s";
}

std::string Describe(const ConfigurationRuns& runs) {
  std::string text = "mean " + ShortNumber(runs.mean);
  if (runs.deviation) text += " deviation " + ShortNumber(*runs.deviation);
  text += " of " + std::to_string(runs.count());
  if (runs.count() < runs.repeat) text += " of " + std::to_string(runs.repeat);
  return text + " runs (" + Listed(runs.trials) + ")";
}

std::string RenderProgress(const SweepSnapshot& snapshot) {
  std::string line = PausedWords(snapshot) + EndedOf(snapshot) + ", " +
                     std::to_string(snapshot.running.size()) + " running";
  if (snapshot.paused_count > 0) line += ", " + std::to_string(snapshot.paused_count) + " paused";
  if (snapshot.failed_count > 0) line += ", " + std::to_string(snapshot.failed_count) + " failed";
  if (snapshot.best.has_value() && snapshot.best->runs) {
    line += ", best " + Describe(*snapshot.best->runs);
  } else if (snapshot.best.has_value()) {
    line += ", best " + ShortNumber(snapshot.best->value) + " (trial " +
            std::to_string(snapshot.best->number) +
            (IsFeasible(snapshot.best->violation) ? ")" : ", infeasible: none keeps the limits)");
  }
  if (snapshot.iterations_per_second.has_value())
    line += ", " + RateWords(*snapshot.iterations_per_second);
  if (snapshot.time_left.has_value()) line += ", " + Describe(*snapshot.time_left);
  return line;
}

void RateMeter::Add(Instant now, int64_t count) {
  constexpr size_t kReportsMin = 2;
  now_ = now;
  if (samples_.empty() || samples_.back().second != count) samples_.emplace_back(now, count);
  // The last one outside of the window stays: it is where the window begins.
  while (samples_.size() > kReportsMin + 1 && now - samples_[1].first >= kRateWindow)
    samples_.pop_front();
}

std::optional<double> RateMeter::PerSecond() const {
  if (samples_.size() < 2) return std::nullopt;
  const double reported = (samples_.back().first - samples_.front().first).seconds();
  // Silence counts where it is longer than reports are apart.
  const double gap = reported / static_cast<double>(samples_.size() - 1);
  const double silent = (now_ - samples_.back().first).seconds();
  const double seconds = reported + std::max(0.0, silent - gap);
  if (seconds < 1) return std::nullopt;
  return static_cast<double>(samples_.back().second - samples_.front().second) / seconds;
}

std::vector<std::string> FailureLog::Lines(const std::vector<EndedTrial>& ended) {
  std::vector<std::string> lines;
  std::map<int64_t, std::vector<int64_t>> repeats;  // By the trial that failed so first.
  for (const EndedTrial& trial : ended) {
    if (!trial.failed) continue;
    const auto [first, is_new] = first_trials_.emplace(ErrorKind(trial.reason), trial.number);
    if (!is_new && first->second != trial.number) {
      repeats[first->second].push_back(trial.number);
      continue;
    }
    lines.push_back("trial " + std::to_string(trial.number) + " failed after " +
                    Iterations(trial.iterations) +
                    (trial.reason.empty() ? "" : ": " + Printable(trial.reason)));
  }
  for (const auto& [first, numbers] : repeats) {
    const std::string which = numbers.size() == 1 ? "trial " + std::to_string(numbers.front())
                                                  : std::to_string(numbers.size()) + " more trials";
    lines.push_back(which + " failed as trial " + std::to_string(first) + " did");
  }
  return lines;
}

std::vector<std::string> ProgressLog::Update(const SweepSnapshot& snapshot,
                                             const std::vector<EndedTrial>& ended, Instant now) {
  std::vector<std::string> lines;
  if (ended.size() <= kEndLinesMax) {
    for (const EndedTrial& trial : ended) {
      if (!trial.failed) lines.push_back(EndLine(trial, snapshot.metric));
    }
  } else {
    const auto failed =
        std::count_if(ended.begin(), ended.end(), [](const EndedTrial& t) { return t.failed; });
    lines.push_back(Trials(static_cast<int64_t>(ended.size())) + " ended" +
                    (failed > 0 ? ", " + std::to_string(failed) + " of them failed" : ""));
  }
  if (!said_at_.has_value()) said_at_ = now;  // The first line of progress after the first while.
  if (now - *said_at_ < kProgressEvery || snapshot.iteration_count == said_iterations_)
    return lines;
  lines.push_back(RenderProgress(snapshot));
  said_at_ = now;
  said_iterations_ = snapshot.iteration_count;
  return lines;
}

std::string ShellCommand(const std::string& verb, const std::string& sweep,
                         const std::string& db_path) {
  return "tune " + verb + " " + ShellQuoted(sweep) +
         (db_path == "tune.db" || !EnvironmentText(kRemoteWidth).empty()
              ? ""
              : " --db " + ShellQuoted(db_path));
}

namespace {

// Empty in a sweep without limits on results.
std::string LimitsLine(const SweepSummary& summary) {
  if (!summary.none_feasible.empty()) {
    return "NOT FEASIBLE    " + Printable(summary.none_feasible) + "\n";
  }
  if (!summary.front.empty() || !summary.best || !summary.best->violation) return "";
  return "limits          " + DescribeViolation(*summary.best->violation) + "\n";
}

}  // namespace

std::string RenderSummary(const SweepSummary& summary) {
  std::string text =
      Printable(summary.name) + " " + summary.status +
      (summary.was_paused ? " while it was PAUSED" : "") + ": " + Trials(summary.trial_count) +
      (summary.failed_count > 0 ? ", " + std::to_string(summary.failed_count) + " failed" : "") +
      ", " + FormatDuration(summary.elapsed) +
      (summary.since_creation ? ", " + FormatDuration(*summary.since_creation) + " since it began"
                              : "") +
      "\n";
  if (!summary.given_up.empty()) text += "given up        " + Printable(summary.given_up) + "\n";
  if (!summary.ended_early.empty()) {
    text += "ended early     " + Printable(summary.ended_early) + "\n";
  }
  if (!summary.front.empty()) {
    text += "Pareto front    " + summary.front + ": " +
            ShellCommand("results", summary.name, summary.db_path) + " --best\n";
  } else if (summary.best.has_value()) {
    const BestSoFar& best = *summary.best;
    if (best.runs) {
      text +=
          "best configuration: " + Printable(summary.metric) + " " + Describe(*best.runs) + "\n";
    }
    text += std::string(best.runs ? "its best run    " : "best trial      ") +
            std::to_string(best.number) + ": " + Printable(summary.metric) + " " +
            ShortNumber(best.value) + " at iteration " + std::to_string(best.iteration) + "\n";
    text += "configuration   " + DescribeConfig(best.config) + "\n";
    if (best.earlier_configs > 0) {
      text += "                " + DescribeEarlierConfigs(best.earlier_configs, best.number) + "\n";
    }
    text += "checkpoint      " +
            (best.checkpoint_path.empty() ? "none" : Printable(best.checkpoint_path)) + "\n";
  } else {
    text += "best trial      none: " + summary.why_no_best + "\n";
  }
  text += LimitsLine(summary);
  if (summary.better_failed.has_value() && summary.front.empty()) {
    const FailedBest& failed = *summary.better_failed;
    text += "not counted     trial " + std::to_string(failed.number) + " failed after iteration " +
            std::to_string(failed.iterations) + " with a better value, " +
            ShortNumber(failed.value) + "\n";
  }
  for (const Doubt& doubt : summary.doubts) {
    text += "in doubt        " + Printable(Describe(doubt)) + "\n";
  }
  if (summary.iterations_full.has_value()) text += SavedLine(summary);
  if (!summary.has_ended_trial && summary.paused_count > 0) {
    text += "left paused     " + Trials(summary.paused_count) +
            ", and none came to its end: " + ShellCommand("resume", summary.name, summary.db_path) +
            " --samples N lets more come\n";
  }
  const bool has_means = summary.repeat > 1 && summary.front.empty();
  const std::string query =
      has_means ? RankConfigurationsSql(summary.experiment, summary.repeat, summary.mode,
                                        summary.has_limits)
                : "select number, status, stop_reason, iterations, best_value" +
                      std::string(summary.has_limits ? ", feasible, violation" : "") +
                      " from trials where experiment = " + std::to_string(summary.experiment) +
                      " and status <> 'ERROR' order by " +
                      BestFirstSql(summary.mode, summary.has_limits ? "violation" : "");
  // The database of a head elsewhere is not at hand.
  const bool is_elsewhere = !EnvironmentText(kRemoteWidth).empty();
  text += "more            " +
          (is_elsewhere ? ShellCommand("results", summary.name, summary.db_path)
                        : "sqlite3 " + ShellQuoted(summary.db_path) + " \"" + query + "\"") +
          "\n";
  const bool has_ended = summary.status == "FINISHED" || summary.status == "STOPPED";
  if (!has_ended && !summary.resume_line.empty())
    text += "go on with      " + summary.resume_line + "\n";
  return text;
}

}  // namespace tune
