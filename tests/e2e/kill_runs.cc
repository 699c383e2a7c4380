#include "tests/e2e/kill_runs.h"

#include <signal.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>

#include "core/random.h"
#include "tests/e2e/database_rows.h"
#include "tests/e2e/watched_program.h"

namespace tune::testing {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kNeverUs = 120'000'000;   // A sweep that has not ended by then hangs.
constexpr int64_t kLastEndUs = 10'000'000;  // The promise is a second; the machine may be busy.
constexpr int64_t kStartUs = 40'000;        // Programs start, the database is made.
constexpr double kFileCalls = 3000;         // A second of a tuner's work.
constexpr int64_t kLivesMax = 40;
constexpr int kExitInterrupted = 1;
constexpr int kExitNothingToDo = 2;
constexpr int kExitKilled = 128 + SIGKILL;

constexpr char kTableSql[] =
    "SELECT number, status, stop_reason, config, iterations, best_value, best_iteration,"
    " last_value FROM trials ORDER BY number";
constexpr char kDecisionsSql[] =
    "SELECT t.number, d.iteration, d.decision, d.scheduler, d.rung, d.cutoff, d.rank, d.count"
    " FROM decisions AS d JOIN trials AS t ON t.id = d.trial ORDER BY t.number, d.iteration";
// What may never change once it was committed.
constexpr const char* kCommittedSql[] = {
    kDecisionsSql,
    "SELECT trial, name, value FROM params ORDER BY trial, name",
    "SELECT trial, attempt, iteration, value, metrics, reported_at FROM reports"
    " ORDER BY trial, attempt, iteration",
};
constexpr char kReportsSql[] =
    "SELECT t.number, r.attempt, r.iteration FROM reports AS r JOIN trials AS t ON t.id = r.trial";

std::string CurveSpace(const std::string& curve, const std::string& rest) {
  return "trainable:\n  curve:\n    value: \"(x - 0.3)^2 + exp(-0.2 * t)\"\n" + curve +
         "metric: loss\nmode: min\nseed: 11\nspace: {x: {uniform: [0, 1]}}\n"
         "failure: {max_failures: -1, backoff: 0s}\n" +
         rest;
}

std::string Milliseconds3(int64_t us) {
  return std::to_string(us / 1000) + "." + std::to_string(us / 100 % 10) + " ms";
}

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Everything below a folder, relative, sorted; folders end with '/'.
std::vector<std::string> Tree(const std::string& folder) {
  std::vector<std::string> names;
  if (!fs::exists(folder)) return names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    std::string name = fs::relative(entry.path(), folder).string();
    names.push_back(entry.is_directory() ? name + "/" : name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

void LinkPrograms(const std::string& from, const std::string& witness, const std::string& to) {
  fs::create_directories(to);
  // Copies where a program looks beside itself for the others.
  for (const char* name : {"tune_cli", "tune_worker"})
    fs::copy_file(from + "/" + name, to + "/" + name);
  for (const char* name : {"tune_trial", "tune_trial_food11", "food11"}) {
    const bool is_replaced = name == std::string("tune_trial") && !witness.empty();
    fs::create_symlink(fs::absolute(is_replaced ? witness : from + "/" + name), to + "/" + name);
  }
}

// The final table and the decisions; for a sweep with checkpoints the best one's weights, too.
std::vector<std::string> Answer(const std::string& folder, bool has_checkpoints,
                                std::vector<std::string>& findings) {
  std::vector<std::string> answer;
  std::vector<std::string> queries = {kTableSql, kDecisionsSql};
  for (const std::string& query : queries) {
    const auto rows = Rows(folder + "/tune.db", query);
    if (!rows.ok()) {
      findings.push_back(rows.status().message());
      return answer;
    }
    answer.insert(answer.end(), rows->begin(), rows->end());
  }
  if (!has_checkpoints) return answer;
  const auto best = Rows(folder + "/tune.db",
                         "SELECT c.path FROM trials AS t JOIN checkpoints AS c ON c.trial = t.id"
                         " AND c.iteration = t.best_iteration AND c.state = 'durable'"
                         " ORDER BY t.best_value DESC, t.number LIMIT 1");
  if (!best.ok() || best->size() != 1) {
    findings.push_back("there is no checkpoint of the best trial's best iteration");
    return answer;
  }
  const std::string weights = ReadAll(best->front() + "/model.safetensors");
  if (weights.empty()) findings.push_back("no weights in " + best->front());
  answer.push_back("weights " + std::to_string(weights.size()) + " " +
                   std::to_string(StableHash(weights)));
  return answer;
}

std::string FirstDifference(const std::vector<std::string>& wanted,
                            const std::vector<std::string>& found) {
  const auto [a, b] = std::mismatch(wanted.begin(), wanted.end(), found.begin(), found.end());
  return "left alone: " + (a == wanted.end() ? "nothing" : *a) +
         "; after kills: " + (b == found.end() ? "nothing" : *b);
}

}  // namespace

// ---- the sweeps

std::vector<KillSweep> FixedOrderSweeps() {
  const std::string asha = "scheduler: {asha: {max_t: 9, grace_period: 1, reduction_factor: 3}}\n";
  const std::string one = "limits: {max_concurrent: 1}\n";
  return {
      {"asha-1",
       CurveSpace("    iterations: 9\n    seconds: 0.012\n", "samples: 16\n" + asha + one),
       {},
       true,
       false},
      {"asha-1-short",
       CurveSpace("    iterations: 9\n    seconds: 0.0005\n", "samples: 80\n" + asha + one),
       {},
       true,
       false},
      {"asha-1-every-3",
       CurveSpace("    iterations: 9\n    seconds: 0.012\n",
                  "samples: 16\ncheckpoint: {every: 3}\n" + asha + one),
       {},
       true,
       false},
      {"fifo-4",
       CurveSpace("    iterations: 6\n    seconds: 0.02\n    noise: 0.1\n", "samples: 24\n"),
       {"--cpus", "4"},
       true,
       false},
      {"fifo-3-short",
       CurveSpace("    iterations: 2\n    seconds: 0.0005\n", "samples: 300\n"),
       {"--cpus", "3"},
       true,
       false},
  };
}

std::vector<KillSweep> AshaAtFourSweeps() {
  const std::string asha = "scheduler: {asha: {max_t: 9, grace_period: 1, reduction_factor: 3}}\n";
  return {
      {"asha-4",
       CurveSpace("    iterations: 9\n    seconds: 0.015\n", "samples: 40\n" + asha),
       {"--cpus", "4"},
       false,
       false},
      {"asha-4-short",
       CurveSpace("    iterations: 9\n    seconds: 0.0005\n", "samples: 200\n" + asha),
       {"--cpus", "4"},
       false,
       false},
  };
}

std::vector<KillSweep> ClassifierSweeps() {
  const std::string space =
      "trainable: food11\nmetric: val_accuracy\nmode: max\nsamples: 4\nseed: 3\n"
      "space:\n  data: synthetic\n  width_mult: 0.35\n  image_size: 32\n"
      "  lr: {loguniform: [0.0003, 0.01]}\n  batch_size: {choice: [16, 32]}\n  total_epochs: 4\n"
      "failure: {max_failures: -1, backoff: 0s}\n";
  return {
      {"food11-asha-1",
       space + "scheduler: {asha: {max_t: 4, reduction_factor: 2}}\nlimits: {max_concurrent: 1}\n",
       {},
       true,
       true},
      {"food11-fifo-2", space, {"--cpus", "2"}, true, true},
  };
}

// ---- one run

class KillRuns::OneRun {
 public:
  OneRun(const KillRuns& runs, int64_t number)
      : runs_(runs),
        random_(runs.seed_, runs.sweep_.name, static_cast<uint64_t>(number)),
        sweep_folder_(runs.folder_ + "/sweep"),
        scratch_(runs.folder_ + "/scratch") {
    for (const std::string& folder : {sweep_folder_, scratch_}) {
      fs::remove_all(folder);
      fs::create_directories(folder);
    }
    std::ofstream(sweep_folder_ + "/space.yaml") << runs.sweep_.space;
  }

  KillRun Go(bool is_disturbed) {
    kills_left_ = is_disturbed ? 1 + static_cast<int64_t>(random_.NextBelow(6)) : 0;
    int exit_status = -1;
    while (run_.lives < kLivesMax) {
      exit_status = Live();
      if (!run_.findings.empty()) return run_;
      if (exit_status == 0) break;
      LookAtCommitted(/*is_over=*/false);
    }
    if (exit_status != 0)
      Find("did not come to its end in " + std::to_string(kLivesMax) + " lives");
    if (run_.findings.empty()) LookAtEnd();
    return run_;
  }

  const std::string& sweep_folder() const { return sweep_folder_; }

 private:
  void Find(const std::string& finding) { run_.findings.push_back(finding); }
  void Tell(const std::string& event) { run_.story += "  " + event + "\n"; }
  std::string db() const { return sweep_folder_ + "/tune.db"; }

  bool IsStored() const {
    const auto rows = RowsOfCopy(db(), scratch_, "SELECT id FROM experiments");
    return rows.ok() && rows->size() == 1;
  }

  WatchedProgram::Options Options(bool is_traced) const {
    WatchedProgram::Options options;
    options.program = runs_.folder_ + "/bin/tune_cli";  // What tune becomes.
    options.arguments = {"resume"};
    if (!is_stored_) options.arguments = {"run", "space.yaml"};
    for (const std::string& option : runs_.sweep_.run_options) options.arguments.push_back(option);
    options.folder = sweep_folder_;
    options.variables = {"TUNE_WITNESS=" + scratch_ + "/witness", "TMPDIR=" + scratch_,
                         "TUNE_DB=tune.db"};
    options.out_path = scratch_ + "/out";
    options.is_traced = is_traced;
    return options;
  }

  // One life of the tuner: its exit status.
  int Live() {
    ++run_.lives;
    worker_kills_in_life_ = 0;
    is_killed_ = false;
    fs::remove(scratch_ + "/out");
    // After a kill it is not known whether the sweep was stored: resume says so, and is right.
    const bool is_stored = IsStored();
    if (run_.lives > 1 && !is_stored && random_.NextBelow(2) == 0) {
      is_stored_ = true;
      const int status = LiveOnce(/*may_kill=*/false);
      if (status != kExitNothingToDo)
        Find("resume without a sweep ended with " + std::to_string(status));
      if (!run_.findings.empty()) return status;
      fs::remove(scratch_ + "/out");
    }
    is_stored_ = is_stored;
    const int status = LiveOnce(/*may_kill=*/true);
    Tell("life " + std::to_string(run_.lives) + (is_stored_ ? " (resume)" : " (run)") +
         " ended with " + std::to_string(status));
    const bool is_right = status == 0 || (is_killed_ && status == kExitKilled) ||
                          (worker_kills_in_life_ > 0 && status == kExitInterrupted);
    if (!is_right) Find("a life ended with status " + std::to_string(status) + ":\n" + Output());
    return status;
  }

  int LiveOnce(bool may_kill) {
    const bool is_traced = may_kill && kills_left_ > 0 && random_.NextBelow(3) == 0;
    WatchedProgram tuner(Options(is_traced));
    if (is_traced) {
      // As likely among the first ten as from a hundred to a thousand: a database is made once.
      const auto call =
          static_cast<int64_t>(std::exp(random_.NextUniform(0, std::log(kFileCalls))));
      if (tuner.RunToFileCall(call)) {
        Kill(tuner, random_.NextBelow(3) == 0 ? Victim::kGroup : Victim::kTuner,
             "file call " + std::to_string(call));
      }
    } else if (may_kill) {
      KillAtTimes(tuner);
    }
    const std::optional<int> status = tuner.WaitForEnd(kNeverUs);
    if (!status) {
      Find("a life did not end:\n" + Output());
      return -1;
    }
    const int64_t ended_at_us = MonotonicUs();
    const std::vector<std::string> left = tuner.WaitForDescendants(kLastEndUs);
    for (const std::string& name : left) Find("the process " + name + " is left behind");
    if (is_killed_) {
      run_.tuner_end_us.push_back(ended_at_us - killed_at_us_);
      run_.last_end_us.push_back(MonotonicUs() - ended_at_us);
    }
    return *status;
  }

  enum class Victim { kTuner, kWorker, kTrial, kGroup };

  void KillAtTimes(WatchedProgram& tuner) {
    const int64_t begin_us = MonotonicUs();
    while (kills_left_ > 0) {
      const double span_us = random_.NextBelow(10) < 2 ? static_cast<double>(kStartUs)
                                                       : static_cast<double>(runs_.duration_us_);
      const int64_t at_us =
          MonotonicUs() - begin_us + static_cast<int64_t>(random_.NextUniform(0, span_us));
      // Those that are killed before each file call are tuners, and all.
      constexpr Victim kVictims[] = {
          Victim::kTuner, Victim::kTuner, Victim::kWorker, Victim::kWorker, Victim::kWorker,
          Victim::kTrial, Victim::kTrial, Victim::kTrial,  Victim::kTrial,  Victim::kGroup};
      const Victim victim = kVictims[random_.NextBelow(std::size(kVictims))];
      const auto pick = random_.NextU64();
      if (!tuner.RunFor(at_us)) return;
      Kill(tuner, victim, Milliseconds3(at_us), pick);
      if (is_killed_) return;
    }
  }

  void Kill(WatchedProgram& tuner, Victim victim, const std::string& when, uint64_t pick = 0) {
    std::vector<pid_t> workers;
    std::vector<pid_t> trials;
    const std::vector<ProcessEntry> processes =
        victim == Victim::kTuner ? std::vector<ProcessEntry>() : Descendants(tuner.pid());
    for (const ProcessEntry& process : processes) {
      (process.parent == tuner.pid() ? workers : trials).push_back(process.pid);
    }
    if (victim == Victim::kTrial && trials.empty()) victim = Victim::kWorker;
    if (victim == Victim::kWorker && workers.empty()) victim = Victim::kTuner;
    --kills_left_;
    switch (victim) {
      case Victim::kTrial:
        ++run_.trial_kills;
        Tell("killed a trial at " + when);
        kill(trials[pick % trials.size()], SIGKILL);
        return;
      case Victim::kWorker:
        ++run_.worker_kills;
        ++worker_kills_in_life_;
        Tell("killed the worker at " + when);
        kill(workers.front(), SIGKILL);
        return;
      case Victim::kTuner:
        ++run_.tuner_kills;
        Tell("killed the tuner at " + when);
        break;
      case Victim::kGroup:
        ++run_.group_kills;
        Tell("killed all at " + when);
        break;
    }
    is_killed_ = true;
    killed_at_us_ = MonotonicUs();
    // In the order of a tree, or against it: a worker may see its tuner's end, or not.
    if (pick % 2 == 0) tuner.Signal(SIGKILL);
    for (const pid_t pid : workers) kill(pid, SIGKILL);
    for (const pid_t pid : trials) kill(pid, SIGKILL);
    tuner.Signal(SIGKILL);
  }

  std::string Output() const { return ReadAll(scratch_ + "/out"); }

  // Between two lives: what was committed before is still there, and what was acknowledged too.
  void LookAtCommitted(bool is_over) {
    if (!is_over && !IsStored()) {
      run_.kills_before_stored += is_killed_ ? 1 : 0;
      for (const auto& rows : committed_) {
        if (!rows.empty()) Find("the sweep is gone");
      }
      LookAtWitness({});
      return;
    }
    for (size_t i = 0; i < std::size(kCommittedSql); ++i) {
      auto rows =
          is_over ? Rows(db(), kCommittedSql[i]) : RowsOfCopy(db(), scratch_, kCommittedSql[i]);
      if (!rows.ok()) {
        Find(rows.status().message());
        continue;
      }
      std::sort(rows->begin(), rows->end());
      if (!std::includes(rows->begin(), rows->end(), committed_[i].begin(), committed_[i].end())) {
        for (const std::string& row : committed_[i]) {
          if (std::binary_search(rows->begin(), rows->end(), row)) continue;
          Find("what was committed has changed or is gone: " + row);
          break;
        }
      }
      committed_[i] = *std::move(rows);
    }
    const auto reports =
        is_over ? Rows(db(), kReportsSql) : RowsOfCopy(db(), scratch_, kReportsSql);
    if (!reports.ok()) return Find(reports.status().message());
    LookAtWitness({reports->begin(), reports->end()});
  }

  void LookAtWitness(const std::set<std::string>& reports) {
    std::ifstream witness(scratch_ + "/witness");
    run_.answers = 0;
    std::string trial, attempt, iteration, answer;
    while (witness >> trial >> attempt >> iteration >> answer) {
      ++run_.answers;
      if (answer == "refused") continue;
      if (reports.contains(trial + "|" + attempt + "|" + iteration)) continue;
      Find("acknowledged and lost: trial " + trial + ", attempt " + attempt + ", iteration " +
           iteration + " (" + answer + ")");
    }
  }

  void LookAtEnd() {
    LookAtCommitted(/*is_over=*/true);
    LookAtFiles();
    const std::vector<std::string> answer =
        Answer(sweep_folder_, runs_.sweep_.has_checkpoints, run_.findings);
    if (runs_.sweep_.is_order_fixed && !runs_.answer_.empty() && answer != runs_.answer_) {
      Find("the answer differs; " + FirstDifference(runs_.answer_, answer));
    }
    const auto running =
        Rows(db(), "SELECT trial, number FROM attempts WHERE outcome = 'running' ORDER BY trial");
    if (!running.ok() || !running->empty()) Find("attempts are still running");
    const auto open = Rows(db(), "SELECT number FROM trials WHERE status <> 'TERMINATED'");
    if (!open.ok() || !open->empty()) Find("trials have not ended");
    for (const std::string& difference : CompareWithReplay(db(), scratch_)) Find(difference);
  }

  void LookAtFiles() {
    const std::string artifacts = "tune.artifacts";
    std::vector<std::string> left;
    for (const auto& entry : fs::directory_iterator(sweep_folder_)) {
      left.push_back(entry.path().filename().string());
    }
    std::sort(left.begin(), left.end());
    std::vector<std::string> wanted = {"space.yaml", "tune.db"};
    if (runs_.sweep_.has_checkpoints) wanted.insert(wanted.begin() + 1, artifacts);
    if (left != wanted) {
      std::string names;
      for (const std::string& name : Tree(sweep_folder_)) names += " " + name;
      Find("the folder holds" + names);
    }
    // Below the artifacts lie the durable checkpoints, and what the trials printed.
    const auto durable = Rows(db(), "SELECT path FROM checkpoints WHERE state = 'durable'");
    if (!durable.ok()) return Find(durable.status().message());
    std::set<std::string> folders;
    for (const std::string& path : *durable) {
      folders.insert(fs::relative(path, sweep_folder_ + "/" + artifacts).string() + "/");
      if (!fs::exists(path + "/manifest.json")) Find("the checkpoint " + path + " is not there");
    }
    for (const std::string& name : Tree(sweep_folder_ + "/" + artifacts)) {
      const size_t third = [&] {
        size_t at = 0;
        for (int i = 0; i < 3 && at != std::string::npos; ++i) at = name.find('/', at + (i > 0));
        return at;
      }();
      if (third == std::string::npos) continue;  // The sweep, its trials, their logs.
      if (!folders.contains(name.substr(0, third + 1))) Find("left behind: " + name);
    }
  }

  const KillRuns& runs_;
  KeyedRandom random_;
  std::string sweep_folder_;
  std::string scratch_;
  KillRun run_;
  int64_t kills_left_ = 0;
  int64_t worker_kills_in_life_ = 0;
  bool is_killed_ = false;  // The tuner, in this life.
  bool is_stored_ = false;
  int64_t killed_at_us_ = 0;
  std::vector<std::string> committed_[std::size(kCommittedSql)];
};

// ---- all runs

KillRuns::KillRuns(KillSweep sweep, const std::string& programs, const std::string& witness,
                   std::string folder, uint64_t seed)
    : sweep_(std::move(sweep)), programs_(programs), folder_(std::move(folder)), seed_(seed) {
  AdoptOrphans();
  LinkPrograms(programs, witness, folder_ + "/bin");
  OneRun first(*this, 0);
  const int64_t begin_us = MonotonicUs();
  findings_ = first.Go(/*is_disturbed=*/false).findings;
  duration_us_ = MonotonicUs() - begin_us;
  if (!findings_.empty()) return;
  answer_ = Answer(first.sweep_folder(), sweep_.has_checkpoints, findings_);
}

KillRun KillRuns::Run(int64_t number) { return OneRun(*this, number).Go(/*is_disturbed=*/true); }

}  // namespace tune::testing
