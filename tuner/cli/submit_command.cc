#include "tuner/cli/submit_command.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

Result<LockHolder> FindHead(const std::string& db_path) {
  const std::optional<LockHolder> holder = FindLockHolder(db_path);
  if (!holder) {
    return Unavailable("no head holds " + db_path + "; start one with " + "tune head --db " +
                       db_path + ", or run the sweep alone with tune run");
  }
  if (!holder->is_head) {
    return Unavailable(db_path + ": is held by " + DescribeHolder(*holder) +
                       ", which runs one sweep; end it first, or choose another --db");
  }
  return *holder;
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
                         "head and of its workers, and leave its value out here");
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

Result<ExperimentSpec> ReadSpec(const SubmitOptions& options) {
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

Result<std::string> Submit(const SubmitOptions& options, const Clock& clock, std::ostream& err) {
  const RunOptions& run = options.run;
  TUNE_ASSIGN_OR_RETURN(const LockHolder head, FindHead(run.db_path));
  TUNE_ASSIGN_OR_RETURN(ExperimentSpec spec, ReadSpec(options));
  if (run.name) spec.name = *run.name;
  const uint64_t seed = run.seed ? *run.seed : spec.seed ? *spec.seed : DrawEntropy() >> 11;
  TUNE_RETURN_IF_ERROR(Check(run, spec, seed));
  if (spec.share.owner.empty()) spec.document.Set("owner", UserName());
  TUNE_ASSIGN_OR_RETURN(const PackageName package, Pack(spec, run.db_path));
  Provenance provenance = ProvenanceOf(spec, run);
  provenance.package = package;

  ControlRequest request;
  request.verb = ControlVerb::kSubmit;
  request.tuner = head.pid;
  request.sweep = spec.name;
  request.submission = {seed, ToJson(spec.document), spec.base_dir, EncodeProvenance(provenance),
                        package};
  const auto is_late = [&] {
    err << DescribeHolder(head) << " does not answer; waiting for it\n";
    err.flush();
  };
  const Result<ControlAnswer> answer =
      AskTuner(ArtifactsDirOf(run.db_path), request, clock, kPatience, is_late);
  if (!answer.ok()) return answer.status().At(DescribeHolder(head));
  TUNE_RETURN_IF_ERROR(answer->status);
  if (answer->lines.size() != 1) return Internal("the head's answer names no sweep");
  return answer->lines.front();
}

}  // namespace

int SubmitCommand(const SubmitOptions& options, const Clock& clock, const WaitFunction& wait,
                  std::ostream& out, std::ostream& err) {
  const Result<std::string> name = Submit(options, clock, err);
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
