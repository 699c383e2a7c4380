#include "tuner/cli/submit_command.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/hash.h"
#include "core/input_error.h"
#include "core/json.h"
#include "core/posix/environment.h"
#include "core/posix/real_clock.h"
#include "core/posix/user_name.h"
#include "search/space.h"
#include "trial_runner/package/kept_package.h"
#include "trial_runner/tls/tls_folder.h"
#include "trial_runner/trial_programs.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/complain.h"
#include "tuner/cli/configuration_check.h"
#include "tuner/cli/head.h"
#include "tuner/cli/job_commands.h"
#include "tuner/cli/live_view.h"
#include "tuner/cli/sweep_start.h"
#include "tuner/cli/working_package.h"
#include "tuner/control/control_client.h"
#include "tuner/earlier_sweep.h"
#include "tuner/export/optuna_study.h"
#include "tuner/search_problem.h"
#include "tuner/spec_reader.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {
namespace {

constexpr Duration kPatience = Milliseconds(60'000);
constexpr Duration kListenPatience = Milliseconds(10'000);
constexpr Duration kLookAgainEvery = Milliseconds(50);

// The head that holds the database. Nothing: one that has just come may be it.
Result<std::optional<LockHolder>> FindHead(const std::string& db_path) {
  const std::optional<LockHolder> holder = FindLockHolder(db_path);
  if (!holder) {
    return Unavailable("no head holds " + db_path + "; start one with tune head --db " + db_path +
                       ", or run the sweep alone with tune run");
  }
  if (holder->is_head) return std::optional(*holder);
  if (holder->experiment.empty()) return std::optional<LockHolder>();
  return Unavailable(db_path + ": is held by " + DescribeHolder(*holder) +
                     ", which runs one sweep; end it first, or choose another --db");
}

// Whether workers of other machines can come.
bool HeadListens(const std::string& db_path) {
  const Result<TlsFolder> folder = TlsFolder::Open(TlsFolderOf(ArtifactsDirOf(db_path)));
  if (!folder.ok()) return false;
  const auto address = folder->ListenAddressOf(kHeadListening);
  return address.ok() && address->has_value();
}

// A head's environment is not that of who submits.
Status RefuseSecrets(const ExperimentSpec& spec) {
  if (spec.secrets.empty()) return OkStatus();
  return InvalidArgument("trainable.env." + spec.secrets.front().name +
                         ": is a secret, which is not stored; set it in the environment of the "
                         "head and of its workers, and name it here without its value (--env " +
                         spec.secrets.front().name + ", in a space file {from_environment: true})");
}

// Checked here, so that a mistake is told with its place in the file.
Status Check(const RunOptions& options, ExperimentSpec& spec, uint64_t seed) {
  TUNE_RETURN_IF_ERROR(CheckNewSweepName(spec.name).At(options.name ? "--name" : "name"));
  TUNE_RETURN_IF_ERROR(RefuseSecrets(spec));
  TUNE_RETURN_IF_ERROR(TakeOptunaTrials(spec));
  const Result<Configuration> first = CheckTrials(spec, seed, options.data_dir);
  if (!first.ok()) {
    return options.space_path.empty() ? first.status() : InFile(options.space_path, first.status());
  }
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, SpaceOf(spec));
  TUNE_RETURN_IF_ERROR(CheckStudy(spec, space));
  for (const std::string& warning : WarningsBeforeStart(spec, space)) {
    Tell("warning: " + warning);
  }
  TUNE_ASSIGN_OR_RETURN(const std::string kind, TrainableKind(spec.trainable));
  const bool is_ready =
      kind != "food11" || PrepareData(*first, spec.base_dir, options.data_dir, options.program_dir);
  return is_ready ? OkStatus() : InvalidArgument("the images cannot be prepared");
}

Result<PackageName> Pack(const ExperimentSpec& spec, const std::string& db_path) {
  if (!HeadListens(db_path)) return PackageName{};
  TUNE_ASSIGN_OR_RETURN(const WorkingPackage package,
                        PackWorkingFolder(spec, db_path, /*listens=*/true));
  for (const std::string& warning : package.warnings) Tell("warning: " + warning);
  if (package.packed == nullptr) return PackageName{};
  TUNE_RETURN_IF_ERROR(KeepPackage(*package.packed, PackagesDirOf(db_path)));
  return package.name;
}

bool IsSpaceFile(const std::vector<std::string>& words) {
  if (words.size() != 1) return false;
  const std::string_view word = words.front();
  return word.ends_with(".yaml") || word.ends_with(".yml") || word.ends_with(".json");
}

// What is meant for the other kind would have no effect.
Status RefuseOthers(const SubmitOptions& options, bool is_space) {
  const JobOptions& job = options.job;
  const RunOptions& run = options.run;
  const std::tuple<bool, bool, const char*> given[] = {
      {job.cpus.has_value(), true, "--cpus"},
      {job.gpus.has_value(), true, "--gpus"},
      {job.gpu_memory.has_value(), true, "--gpu-memory"},
      {job.memory.has_value(), true, "--memory"},
      {job.time.has_value(), true, "--time"},
      {job.setup.has_value(), true, "--setup"},
      {job.retries.has_value(), true, "--retries"},
      {!job.env.empty(), true, "--env"},
      {job.working_dir != ".", true, "--working-dir"},
      {run.samples.has_value(), false, "--samples"},
      {run.seed.has_value(), false, "--seed"},
      {run.max_concurrent.has_value(), false, "--max-concurrent"},
      {!run.overrides.empty(), false, "--set"}};
  if (job.gpu_memory && !job.gpus) {
    return InvalidArgument(
        "--gpu-memory: is a GPU's; say how many with --gpus, or which part: 0.5");
  }
  for (const auto& [is_given, is_of_job, name] : given) {
    if (!is_given || is_of_job != is_space) continue;
    return InvalidArgument(std::string(name) +
                           (is_of_job ? ": is for a program; a space file says it itself, or --set "
                                        "KEY=VALUE does"
                                      : ": is for a space file, and not for a program"));
  }
  return OkStatus();
}

Result<ExperimentSpec> ReadSpec(const SubmitOptions& options) {
  TUNE_RETURN_IF_ERROR(RefuseOthers(options, IsSpaceFile(options.words)));
  if (IsSpaceFile(options.words)) {
    return ReadSpecFile(options.words.front(), WithShortcuts(options.run));
  }
  JobOptions job = options.job;
  job.program = options.words;
  job.name = options.run.name;
  job.priority = options.run.priority;
  std::error_code error;
  job.working_dir = std::filesystem::absolute(job.working_dir, error).lexically_normal().string();
  if (error || !std::filesystem::is_directory(job.working_dir, error)) {
    return InvalidArgument("--working-dir: " + job.working_dir + " is no folder");
  }
  TUNE_ASSIGN_OR_RETURN(Value document, JobDocument(job));
  const std::vector<Secret> secrets = TakeSecrets(document);
  TUNE_ASSIGN_OR_RETURN(ExperimentSpec spec, InterpretSpec(document, "tune submit", job.working_dir,
                                                           /*require_trainable=*/true));
  spec.secrets = secrets;
  return spec;
}

// What the request is for is said by its id: it may be asked again.
class Asking {
 public:
  Asking(const std::string& db_path, ControlRequest request, const Clock& clock,
         const WaitFunction& wait, std::ostream& err)
      : db_path_(db_path),
        request_(std::move(request)),
        clock_(clock),
        wait_(wait),
        err_(err),
        begun_(clock.Now()) {}

  // A head that has just come, is about to, or went away meanwhile is looked for again.
  Result<ControlAnswer> Ask() {
    for (;;) {
      Result<ControlAnswer> answer = AskOnce();
      const bool may_come = answer.status().code() == StatusCode::kNotFound ||
                            (has_asked_ && answer.status().code() == StatusCode::kUnavailable);
      if (answer.ok() || !may_come) return answer;
      const Duration patience = has_asked_ ? kPatience : kListenPatience;
      if (clock_.Now() >= begun_ + patience || !wait_(kLookAgainEvery)) return answer;
      SayThatItWaits(answer.status());
    }
  }

 private:
  Result<ControlAnswer> AskOnce() {
    TUNE_ASSIGN_OR_RETURN(const std::optional<LockHolder> head, FindHead(db_path_));
    if (!head) return NotFound(db_path_ + ": its tuner has just begun");
    request_.tuner = head->pid;
    const auto is_late = [&] {
      err_ << DescribeHolder(*head) << " does not answer; waiting for it" << std::endl;
    };
    Result<ControlAnswer> answer =
        AskTuner(ArtifactsDirOf(db_path_), request_, clock_, kPatience, is_late);
    has_asked_ |= answer.status().code() != StatusCode::kNotFound;
    if (!answer.ok()) return answer.status().At(DescribeHolder(*head));
    // Another one is there by now.
    const bool is_other = answer->status.code() == StatusCode::kFailedPrecondition &&
                          answer->status.message().starts_with("meant for another tuner");
    if (is_other) return NotFound(answer->status.message());
    // It ends just now, and has it.
    if (answer->status.code() == StatusCode::kUnavailable) return answer->status;
    return answer;
  }

  void SayThatItWaits(const Status& status) {
    if (!has_asked_ || std::exchange(has_said_, true)) return;
    err_ << PrintableLines(status.message()) << "; waiting for the head to come back" << std::endl;
  }

  const std::string& db_path_;
  ControlRequest request_;
  const Clock& clock_;
  const WaitFunction& wait_;
  std::ostream& err_;
  const Instant begun_;
  bool has_asked_ = false;
  bool has_said_ = false;
};

Result<std::string> Submit(const SubmitOptions& options, const Clock& clock,
                           const WaitFunction& wait, std::ostream& err) {
  const RunOptions& run = options.run;
  TUNE_RETURN_IF_ERROR(FindHead(run.db_path).status());
  TUNE_ASSIGN_OR_RETURN(ExperimentSpec spec, ReadSpec(options));
  if (run.name) spec.name = *run.name;
  const uint64_t seed = run.seed ? *run.seed : spec.seed ? *spec.seed : DrawEntropy() >> 11;
  TUNE_RETURN_IF_ERROR(Check(run, spec, seed));
  if (spec.share.owner.empty()) spec.document.Set("owner", UserName());
  TUNE_ASSIGN_OR_RETURN(const PackageName package, Pack(spec, run.db_path));
  Provenance provenance = ProvenanceOf(spec, run);
  provenance.package = package;
  provenance.submission =
      options.id.empty() ? HashToHex(DrawEntropy()) + HashToHex(DrawEntropy()) : "id " + options.id;

  ControlRequest request;
  request.verb = ControlVerb::kSubmit;
  request.sweep = spec.name;
  request.submission = {seed, ToJson(spec.document), spec.base_dir, EncodeProvenance(provenance),
                        package};
  TUNE_ASSIGN_OR_RETURN(const ControlAnswer answer,
                        Asking(run.db_path, std::move(request), clock, wait, err).Ask());
  TUNE_RETURN_IF_ERROR(answer.status);
  if (answer.lines.empty()) return Internal("the head's answer names no sweep");
  const bool is_known = answer.lines.size() > 1 && !options.id.empty();
  if (is_known) err << answer.lines.front() << ": " << answer.lines[1] << "\n";
  return answer.lines.front();
}

}  // namespace

int SubmitCommand(const SubmitOptions& options, const Clock& clock, const WaitFunction& wait,
                  std::ostream& out, std::ostream& err) {
  const Result<std::string> name = Submit(options, clock, wait, err);
  if (!name.ok()) return Complain(name.status(), err);
  const std::string& db = options.run.db_path;
  if (IsSpaceFile(options.words)) {
    out << *name << std::endl;
    err << ShellCommand("attach", *name, db) << " shows it, " << ShellCommand("stop", *name, db)
        << " ends it\n";
    return 0;
  }
  if (options.no_wait) {
    out << *name << std::endl;
    return 0;
  }
  err << "job " << *name << std::endl;
  return FollowJob(db, *name, clock, wait, out, err);
}

}  // namespace tune
