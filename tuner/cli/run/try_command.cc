#include "tuner/cli/run/try_command.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/metric_variable.h"
#include "core/utf8.h"
#include "trial_runner/trainable_catalog.h"
#include "tuner/cli/words/complain.h"
#include "tuner/cli/words/scratch_folder.h"
#include "tuner/retrain.h"
#include "tuner/spec_keys.h"
#include "tuner/spec_reader.h"
#include "tuner/sqlite/database.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

std::string ReadText(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// What `tune run` is told: the same sweep, of one trial that stops at its first report.
std::vector<std::string> Arguments(const RunOptions& options, const ExperimentSpec& spec,
                                   const std::string& db_path) {
  std::vector<std::string> arguments = {options.program_dir + "/tune", "--db", db_path, "run",
                                        options.space_path};
  const auto add = [&](const std::string& name, const std::string& value) {
    arguments.push_back(name);
    arguments.push_back(value);
  };
  for (const std::string& assignment : options.overrides) add("--set", assignment);
  // Neither rungs nor repetitions nor other sweeps matter to a first report.
  for (const char* const assignment :
       {"samples=1", "stop.training_iteration=1", "scheduler=fifo", "search={algorithm: random}",
        "from=null", "until=null", "after=null"}) {
    add("--set", assignment);
  }
  // The sweep itself is to own its place in an object store.
  if (!spec.checkpoint.storage.empty()) {
    add("--set", "checkpoint.storage=" + std::string(kStorageAuto));
    add("--set", "checkpoint.storage_credentials=own");
  }
  if (const Value space = WithoutGrids(spec.space); space != spec.space) {
    add("--set", "space=" + ToJson(space));
  }
  if (options.seed) add("--seed", std::to_string(*options.seed));
  if (options.cpus) add("--cpus", std::to_string(*options.cpus));
  if (options.gpus) add("--gpus", std::to_string(*options.gpus));
  return arguments;
}

// Signals that are to end this command, held back while it lives: the trial ends first, and the
// folder is removed.
class HeldSignals {
 public:
  HeldSignals() {
    sigemptyset(&held_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction action = {};
      // A blocked signal would arrive although it is ignored.
      const bool is_ignored =
          sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
      if (!is_ignored) sigaddset(&held_, signal);
    }
    sigaddset(&held_, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &held_, &before_);
  }
  ~HeldSignals() {
    constexpr timespec kNow = {0, 0};
    while (sigtimedwait(&held_, nullptr, &kNow) > 0) {  // They have had their effect.
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  const sigset_t& before() const { return before_; }

  // The wait status of that child. It is told of a signal again and again: the first one only asks
  // its trial to come to a checkpoint, with which nothing would go on here.
  int WaitFor(pid_t pid) const {
    constexpr timespec kPause = {0, 200'000'000};
    int status = W_EXITCODE(1, 0);
    int told = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
      const int signal =
          told == 0 ? sigwaitinfo(&held_, nullptr) : sigtimedwait(&held_, nullptr, &kPause);
      if (signal > 0 && signal != SIGCHLD) told = signal;
      if (told != 0) (void)kill(pid, told);
    }
    return status;
  }

 private:
  sigset_t held_;
  sigset_t before_;
};

// Its exit status, with what it prints in a file. A signal from the terminal reaches it too.
Result<int> RunTune(const std::vector<std::string>& arguments, const std::string& output) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  const HeldSignals held;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &held.before());
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return Unavailable("cannot start " + arguments[0] + ": " + std::strerror(error));
  const int status = held.WaitFor(pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct Tried {
  Value config;
  Value metrics;  // Null: nothing was reported.
  int64_t iteration = 0;
  std::string error;
  std::string log;
};

// The first row's columns as texts; none where there is no row.
Result<std::vector<std::string>> FirstRow(Database& database, const char* sql) {
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(sql));
  TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
  std::vector<std::string> columns;
  for (int i = 0; has_row && i < row->column_count(); ++i) columns.emplace_back(row->Text(i));
  return columns;
}

Result<Tried> ReadTried(const std::string& folder, const std::string& db_path) {
  Tried tried;
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database,
                        Database::Open(db_path, Access::kRead));
  TUNE_ASSIGN_OR_RETURN(const auto trial, FirstRow(*database, "SELECT config FROM trials"));
  TUNE_ASSIGN_OR_RETURN(
      const auto report,
      FirstRow(*database, "SELECT iteration, metrics FROM reports ORDER BY iteration"));
  TUNE_ASSIGN_OR_RETURN(
      const auto attempt,
      FirstRow(*database, "SELECT coalesce(error, '') FROM attempts ORDER BY number DESC"));
  if (!trial.empty()) tried.config = ParseJson(trial[0]).ok() ? *ParseJson(trial[0]) : Value();
  if (!report.empty()) {
    tried.iteration = std::stoll(report[0]);
    const Result<Value> metrics = ParseJson(report[1], JsonDialect::kWithNaN);
    if (metrics.ok()) tried.metrics = *metrics;
  }
  if (!attempt.empty()) tried.error = attempt[0];
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.ends_with(".log") && name != "tuner.log" && name.find("_rank_") == std::string::npos) {
      tried.log = ReadText(it->path());
    }
  }
  return tried;
}

// "val_acc" to "standard output: epoch 1 val acc: 0.93", as the log says it (command_trial.cc).
std::map<std::string, std::string> LinesRead(const std::string& log) {
  constexpr std::string_view kRead = "tune: read ";
  constexpr std::string_view kOn = " on standard ";
  std::map<std::string, std::string> lines;
  std::istringstream rest(log);
  for (std::string line; std::getline(rest, line);) {
    const size_t equals = line.find(" = ");
    const size_t on = line.find(kOn, equals == std::string::npos ? 0 : equals);
    if (!line.starts_with(kRead) || equals == std::string::npos || on == std::string::npos)
      continue;
    lines.emplace(line.substr(kRead.size(), equals - kRead.size()),
                  line.substr(on + std::string_view(" on ").size()));
  }
  return lines;
}

// What is doubtful in them (command_trial.cc).
void PrintNotes(const std::string& log, std::ostream& out) {
  constexpr std::string_view kNote = "tune: note: ";
  std::istringstream rest(log);
  for (std::string line; std::getline(rest, line);) {
    if (line.starts_with(kNote)) out << "note: " << line.substr(kNote.size()) << "\n";
  }
}

void PrintLastLines(const std::string& log, std::ostream& out) {
  constexpr size_t kLinesMax = 10;
  std::vector<std::string> lines;
  std::istringstream rest(log);
  for (std::string line; std::getline(rest, line);) lines.push_back(line);
  if (lines.empty()) {
    out << "it printed nothing\n";
    return;
  }
  out << "the end of what it printed:\n";
  for (size_t i = lines.size() - std::min(lines.size(), kLinesMax); i < lines.size(); ++i) {
    out << "  " << ToUtf8(lines[i]) << "\n";
  }
}

void PrintMissingLimits(const Tried& tried, const ExperimentSpec& spec, std::ostream& out) {
  Metrics reported;
  for (const MapEntry& metric : tried.metrics.AsMap()) reported.emplace_back(metric.key, 0.0);
  for (const std::string& name : spec.feasible.metric_names()) {
    if (FindVariable(reported, name)) continue;
    out << "  " << name << ", which feasible names, is not among them; a report without it counts "
        << "as infeasible\n";
  }
}

void PrintReport(const Tried& tried, const ExperimentSpec& spec, std::ostream& out) {
  const std::map<std::string, std::string> lines = LinesRead(tried.log);
  size_t width = 0;
  for (const MapEntry& metric : tried.metrics.AsMap()) width = std::max(width, metric.key.size());
  out << "the first report, iteration " << tried.iteration << ":\n";
  for (const MapEntry& metric : tried.metrics.AsMap()) {
    const auto line = lines.find(metric.key);
    out << "  " << metric.key << std::string(width - metric.key.size(), ' ') << " = "
        << (metric.value.is_string() ? metric.value.AsString() : ToJson(metric.value))
        << (line == lines.end() ? "" : "   read on " + line->second) << "\n";
  }
  PrintMissingLimits(tried, spec, out);
  const Value* const named = spec.trainable.is_map() ? spec.trainable.Find("metrics") : nullptr;
  if (named == nullptr || !named->is_map()) return;
  for (const MapEntry& metric : named->AsMap()) {
    const bool is_printed = metric.value.is_map() && metric.value.Find("regex") != nullptr;
    if (!is_printed || tried.metrics.Find(metric.key) != nullptr) continue;
    out << "  " << metric.key << " was not seen yet; if each iteration prints it after the others, "
        << "write report_on: " << metric.key << " under trainable\n";
  }
}

}  // namespace

int TryOne(const RunOptions& options, std::ostream& out, std::ostream& err) {
  const Result<ExperimentSpec> spec = ReadSpecFile(options.space_path, options.overrides);
  if (!spec.ok()) return Complain(spec.status(), err);
  const ScratchFolder folder("tune-try-");
  if (folder.path().empty()) {
    return Complain(
        Unavailable(std::string("--try-one: no temporary folder: ") + std::strerror(errno)), err);
  }
  err << "trying one trial of " << spec->name << " up to its first report\n";
  const std::string db_path = folder.path() + "/try.db";
  const std::string output = folder.path() + "/output";
  const Result<int> status = RunTune(Arguments(options, *spec, db_path), output);
  if (!status.ok()) return Complain(status.status(), err);
  const Result<Tried> tried = ReadTried(folder.path(), db_path);
  const bool was_interrupted = *status != 0 && *status != 3;
  if (!tried.ok() || (was_interrupted && !tried->metrics.is_map())) {
    err << ReadText(output);
    return *status == 0 ? 1 : *status;
  }
  out << "configuration: " << ToJson(tried->config) << "\n";
  if (tried->metrics.is_map()) PrintReport(*tried, *spec, out);
  PrintNotes(tried->log, out);
  const bool has_metric = tried->metrics.is_map() && tried->metrics.Find(spec->metric) != nullptr;
  if (!has_metric) {
    out << "the metric " << spec->metric << " was not reported"
        << (tried->error.empty() ? "" : ": " + tried->error) << "\n";
    PrintLastLines(tried->log, out);
  }
  out << "nothing was kept\n";
  return has_metric ? 0 : 3;
}

}  // namespace tune
