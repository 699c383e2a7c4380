#include "tuner/cli/head/submit_command.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/hash.h"
#include "core/input_error.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/posix/environment.h"
#include "core/posix/real_clock.h"
#include "core/posix/user_name.h"
#include "search/space.h"
#include "trial_runner/trial_programs.h"
#include "tuner/cli/head/head_link.h"
#include "tuner/cli/head/submit_again.h"
#include "tuner/cli/run/configuration_check.h"
#include "tuner/cli/run/input_check.h"
#include "tuner/cli/run/sweep_start.h"
#include "tuner/cli/steer/note_command.h"
#include "tuner/cli/words/complain.h"
#include "tuner/earlier_sweep.h"
#include "tuner/export/optuna_study.h"
#include "tuner/search_problem.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

constexpr Duration kHeadPatience = Milliseconds(60'000);
constexpr Duration kListenPatience = Milliseconds(10'000);
constexpr Duration kLookAgainEvery = Milliseconds(50);

// A head's environment is not that of who submits.
Status RefuseSecrets(const ExperimentSpec& spec) {
  if (spec.secrets.empty()) return OkStatus();
  return InvalidArgument("trainable.env." + spec.secrets.front().name +
                         ": is a secret, which is not stored; set it in the environment of the "
                         "head and of its workers, and name it here without its value (--env " +
                         spec.secrets.front().name + ", in a space file {from_environment: true})");
}

// Checked here, so that a mistake is told with its place in the file.
Status Check(const RunOptions& options, ExperimentSpec& spec, uint64_t seed, bool is_here) {
  TUNE_RETURN_IF_ERROR(CheckNewSweepName(spec.name).At(options.name ? "--name" : "name"));
  TUNE_RETURN_IF_ERROR(RefuseSecrets(spec));
  TUNE_RETURN_IF_ERROR(TakeOptunaTrials(spec));
  const Result<Configuration> first = CheckTrials(spec, seed, options.data_dir);
  if (!first.ok()) {
    return options.space_path.empty() ? first.status() : InFile(options.space_path, first.status());
  }
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, SpaceOf(spec));
  TUNE_RETURN_IF_ERROR(CheckStudy(spec, space));
  TUNE_RETURN_IF_ERROR(CheckBucketInputs(spec));
  for (const std::string& warning : WarningsBeforeStart(spec, space)) {
    Tell("warning: " + warning);
  }
  TUNE_ASSIGN_OR_RETURN(const std::string kind, TrainableKind(spec.trainable));
  const bool is_ready = kind != "food11" || !is_here ||
                        PrepareData(*first, spec.base_dir, options.data_dir, options.program_dir);
  return is_ready ? OkStatus() : InvalidArgument("the images cannot be prepared");
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
      {job.workers.has_value(), true, "--workers"},
      {job.spread, true, "--spread"},
      {job.time.has_value(), true, "--time"},
      {job.unplaceable.has_value(), true, "--unplaceable"},
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
  if (job.spread && !job.workers) {
    return InvalidArgument("--spread: is of several ranks; say how many with --workers");
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

// What the request is for is said by its id: it may be asked again. A head that has just come, is
// about to, or went away meanwhile is looked for again.
Result<ControlAnswer> Ask(HeadLink& head, const ControlRequest& request, const Clock& clock,
                          const WaitFunction& wait, std::ostream& err) {
  const Instant begun = clock.Now();
  bool has_said = false;
  for (;;) {
    Result<ControlAnswer> answer = head.Ask(request);
    const bool may_come = answer.status().code() == StatusCode::kNotFound ||
                          (head.HasAsked() && answer.status().code() == StatusCode::kUnavailable);
    if (answer.ok() || !may_come) return answer;
    const Duration patience = head.HasAsked() ? kHeadPatience : kListenPatience;
    if (clock.Now() >= begun + patience || !wait(kLookAgainEvery)) return answer;
    if (!head.HasAsked() || std::exchange(has_said, true)) continue;
    err << PrintableLines(answer.status().message()) << "; waiting for the head to come back"
        << std::endl;
  }
}

struct CheckedSpec {
  ExperimentSpec spec;
  uint64_t seed = 0;
};

Result<CheckedSpec> ReadAndCheck(const SubmitOptions& options, HeadLink& head) {
  const RunOptions& run = options.run;
  TUNE_RETURN_IF_ERROR(head.Find());
  CheckedSpec checked;
  ExperimentSpec& spec = checked.spec;
  TUNE_ASSIGN_OR_RETURN(spec, ReadSpec(options));
  if (run.name) spec.name = *run.name;
  checked.seed = run.seed ? *run.seed : spec.seed ? *spec.seed : DrawEntropy() >> 11;
  TUNE_RETURN_IF_ERROR(Check(run, spec, checked.seed, head.IsHere()));
  return checked;
}

Result<std::string> Submit(const SubmitOptions& options, HeadLink& head, const Clock& clock,
                           const WaitFunction& wait, std::ostream& err) {
  const RunOptions& run = options.run;
  TUNE_ASSIGN_OR_RETURN(CheckedSpec checked, ReadAndCheck(options, head));
  auto& [spec, seed] = checked;
  const SweepLimits usual;
  if (spec.limits.lease != usual.lease) {
    err << "warning: limits.lease: workers of a head have the head's lease (tune head --lease); "
           "this one has no effect\n";
  }
  if (spec.share.owner.empty()) spec.document.Set("owner", UserName());
  if (!run.after.empty()) {
    Value after = Value::MakeList();
    for (const std::string& name : run.after) after.AsList().emplace_back(name);
    spec.document.Set("after", std::move(after));
  }
  TUNE_ASSIGN_OR_RETURN(const LabelChange labels, ReadLabels(run.note, run.tags));
  TUNE_RETURN_IF_ERROR(FirstLabels(run.note, run.tags).status());
  TUNE_ASSIGN_OR_RETURN(const PackageName package, head.HandOver(spec));
  Provenance provenance = ProvenanceOf(spec, run);
  provenance.package = package;
  const std::string id =
      options.id.empty() ? HashToHex(DrawEntropy()) + HashToHex(DrawEntropy()) : options.id;
  provenance.submission = "id " + id;

  ControlRequest request;
  request.verb = ControlVerb::kSubmit;
  request.sweep = spec.name;
  request.submission = {
      seed, ToJson(spec.document), spec.base_dir, EncodeProvenance(provenance), package, labels};
  const Result<ControlAnswer> answered = Ask(head, request, clock, wait, err);
  if (answered.status().code() == StatusCode::kUnavailable && head.HasAsked()) {
    return Unavailable(answered.status().message() +
                       "; it may be there all the same: submitted again with --id " + id +
                       " it is there once");
  }
  if (!answered.ok()) return answered.status();
  const ControlAnswer& answer = *answered;
  TUNE_RETURN_IF_ERROR(answer.status);
  if (answer.lines.empty()) return Internal("the head's answer names no sweep");
  const bool is_known = answer.lines.size() > 1 && !options.id.empty();
  if (is_known) err << answer.lines.front() << ": " << answer.lines[1] << "\n";
  return answer.lines.front();
}

Result<std::string> Again(const SubmitOptions& options, HeadLink& head) {
  if (!options.words.empty()) {
    return InvalidArgument(
        "--again " + options.again +
        ": submits what that is; expected no space file and no program beside it");
  }
  TUNE_RETURN_IF_ERROR(RefuseOthers(options, /*is_space=*/true));
  RunOptions run = options.run;
  const std::optional<int64_t> samples = std::exchange(run.samples, std::nullopt);
  const bool is_count =
      !samples || (*samples >= -1 && *samples != 0 && *samples <= limits::kSamplesMax);
  if (!is_count) {
    return InvalidArgument("--samples: read " + std::to_string(*samples) + ", expected 1 to " +
                           std::to_string(limits::kSamplesMax) + ", or -1 for no limit");
  }
  return head.Again({options.again, run.name, samples, run.seed, WithShortcuts(run)});
}

// A job is followed until it is over; a sweep is left to itself.
int Show(HeadLink& head, const std::string& name, bool is_job, bool no_wait, std::ostream& out,
         std::ostream& err) {
  if (is_job && !no_wait) {
    err << "job " << name << std::endl;
    return head.Follow(name, out);
  }
  out << name << std::endl;
  if (!is_job) {
    err << head.Command("attach", name) << " shows it, " << head.Command("stop", name)
        << " ends it\n";
  }
  return 0;
}

// A dry run of what would be submitted.
Status TellPlan(const SubmitOptions& options, HeadLink& head, const HttpPlace& place,
                std::ostream& out) {
  TUNE_ASSIGN_OR_RETURN(const CheckedSpec checked, ReadAndCheck(options, head));
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, SpaceOf(checked.spec));
  PrintPlan(checked.spec, space, checked.seed,
            "  workers    those of the head at " + place.address.ToText() +
                ", which were not asked whether they can run it",
            out);
  return OkStatus();
}

}  // namespace

int SubmitCommand(const SubmitOptions& options, const Clock& clock, const WaitFunction& wait,
                  std::ostream& out, std::ostream& err) {
  if (options.words.empty() && options.again.empty()) {
    return Complain(InvalidArgument("tune submit: expected a space file, a program behind --, or "
                                    "--again NAME"),
                    err);
  }
  const LinkParts parts{clock, wait, err};
  const std::unique_ptr<HeadLink> head =
      options.head ? LinkToHeadAt(*options.head, parts) : LinkToHeadOf(options.run.db_path, parts);
  const bool is_again = !options.again.empty();
  const Result<std::string> name =
      is_again ? Again(options, *head) : Submit(options, *head, clock, wait, err);
  if (!name.ok()) return Complain(name.status(), err);
  const Result<bool> is_job = is_again ? head->IsJob(*name) : !IsSpaceFile(options.words);
  if (!is_job.ok()) return Complain(is_job.status(), err);
  return Show(*head, *name, *is_job, options.no_wait, out, err);
}

int RunOnHead(const RunOptions& run, const HttpPlace& place, int width, const Clock& clock,
              const WaitFunction& wait, std::ostream& out, std::ostream& err) {
  const std::tuple<bool, const char*> of_a_tuner[] = {{run.cpus.has_value(), "--cpus"},
                                                      {run.gpus.has_value(), "--gpus"},
                                                      {!run.listen.empty(), "--listen"},
                                                      {!run.log.empty(), "--log"},
                                                      {run.ui, "--ui"},
                                                      {run.page.is_given(), "--http"},
                                                      {run.try_one, "--try-one"},
                                                      {!run.cluster_path.empty(), "--cluster"}};
  for (const auto& [is_given, name] : of_a_tuner) {
    if (!is_given) continue;
    return Complain(InvalidArgument(std::string(name) +
                                    ": is of a sweep with workers of its own, and the head has the "
                                    "workers; leave it out, or run the sweep here with --db FILE"),
                    err);
  }
  const std::unique_ptr<HeadLink> head = LinkToHeadAt(place, {clock, wait, err});
  SubmitOptions options;
  options.words = {run.space_path};
  options.run = run;
  if (!IsSpaceFile(options.words)) {
    return Complain(InvalidArgument("read '" + Printable(run.space_path) +
                                    "', expected a space file (.yaml, .json)"),
                    err);
  }
  if (run.dry_run) {
    const Status told = TellPlan(options, *head, place, out);
    return told.ok() ? 0 : Complain(told, err);
  }
  const Result<std::string> name = Submit(options, *head, clock, wait, err);
  if (!name.ok()) return Complain(name.status(), err);
  if (run.print_name || run.detach) out << *name << std::endl;
  if (run.detach) return 0;
  err << "the head runs " << Printable(*name) << "; Ctrl-C leaves it running" << std::endl;
  return head->Watch(*name, width, out);
}

}  // namespace tune
