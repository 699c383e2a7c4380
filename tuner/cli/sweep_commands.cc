// The commands that a sweep is run with, and led while it runs.
#include <signal.h>

#include <iostream>

#include "core/posix/environment.h"
#include "core/posix/real_clock.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/head/cluster_run.h"
#include "tuner/cli/head/submit_command.h"
#include "tuner/cli/look/attach_command.h"
#include "tuner/cli/run/resume_command.h"
#include "tuner/cli/run/retrain_command.h"
#include "tuner/cli/run/run_command.h"
#include "tuner/cli/run/try_command.h"
#include "tuner/cli/steer/control_command.h"
#include "tuner/cli/steer/note_command.h"

namespace tune {
namespace {

// For the options of what runs a sweep.
template <typename Options>
void Take(const Invocation& invocation, Options& options) {
  options.db_path = invocation.db_path;
  options.program_dir = invocation.program_dir;
  options.command_line = invocation.command_line;
  options.data_dir = EnvironmentText("FOOD11_DATA_DIR");
  // A sweep does not end because nobody reads what it says.
  signal(SIGPIPE, SIG_IGN);
}

// Behind all other options of run.
void AddCluster(CLI::App* command, RunOptions& run) {
  CLI::Option* const cluster =
      command
          ->add_option("--cluster", run.cluster_path,
                       "A cluster file: tune cluster up, the sweep with its workers, tune cluster "
                       "down")
          ->type_name("FILE");
  for (const char* const other :
       {"--cpus", "--gpus", "--listen", "--log", "--ui", "--http", "--detach", "--dry-run",
        "--try-one", "--token-expires", "--checkpoint-max"}) {
    cluster->excludes(other);
  }
}

void AddRun(Commands& commands) {
  const auto [command, run] = commands.Add<RunOptions>(
      "run",
      "Runs a sweep.\nExample: tune run space.yaml --samples 16 --set scheduler.asha.max_t=10");
  command->add_option("space", run->space_path, "The space file (YAML or JSON)")
      ->type_name("FILE")
      ->required();
  command->add_option("--samples", run->samples, "How many trials; overrides the file")
      ->type_name("N");
  command->add_option("--name", run->name, "The sweep's name; default: the file's")
      ->type_name("NAME");
  command->add_option("--seed", run->seed, "The seed; default: the file's, else drawn and printed")
      ->type_name("N")
      ->check(IntegerFrom(0));
  command->add_option("--max-concurrent", run->max_concurrent, "Trials at a time")->type_name("N");
  TakeOneEachTime(
      command->add_option("--set", run->overrides, "key.path=value, as if written in the file")
          ->type_name("KEY=VALUE"));
  command
      ->add_option("--cpus", run->cpus,
                   "CPUs that the local worker offers; default: this machine's")
      ->type_name("N")
      ->check(kCpuRange);
  command
      ->add_option(
          "--gpus", run->gpus,
          "GPUs that the local worker offers; default: all that are here, if trials need any; "
          "logical ones where there is none")
      ->type_name("N")
      ->check(kGpuRange);
  command
      ->add_option("--listen", run->listen,
                   "HOST:PORT for workers on other machines, over TLS; prints the line with "
                   "which they join; 0.0.0.0 stands for all addresses, port 0 for any")
      ->type_name("HOST:PORT");
  AddTokenExpires(command, run->token_validity);
  AddCheckpointMax(command, run->checkpoint_bytes_max);
  command
      ->add_option("--log", run->log,
                   "tensorboard: event files are written live beside the database")
      ->type_name("tensorboard");
  command->add_flag(
      "--ui", run->ui,
      "Serves the page while the sweep runs, as tune ui --act does; prints its address");
  AddPagePlace(command, run->page);
  AddLabels(command, run->note, run->tags);
  command->add_flag("--detach", run->detach,
                    "Goes on in the background, also when the terminal closes");
  command->add_flag("--dry-run", run->dry_run, "Checks everything, starts and writes nothing");
  command
      ->add_flag("--try-one", run->try_one,
                 "Runs one trial up to its first report, shows what was read, keeps nothing")
      ->excludes("--dry-run")
      ->excludes("--detach");
  command->add_flag("--print-name", run->print_name,
                    "Prints the sweep's name on standard output once it is stored");
  AddCluster(command, *run);
  commands.Bind(command, [run = run](const Invocation& invocation) {
    Take(invocation, *run);
    if (invocation.head) {
      return Answered(RunOnHead(*run, *invocation.head, static_cast<int>(OutputWidth()),
                                RealClock(), WaitForCtrlC, std::cout, std::cerr));
    }
    if (!run->cluster_path.empty()) {
      LiveScreen screen;
      return RunOnCluster(*run, RealClock(), WaitForCtrlC, screen, std::cout, std::cerr);
    }
    return run->try_one ? TryOne(*run, std::cout, std::cerr) : RunCommand(*run);
  });
}

void AddResume(Commands& commands) {
  const auto [command, resume] = commands.Add<ResumeOptions>(
      "resume", "Goes on with an interrupted sweep.\nExample: tune resume food11");
  command->add_option("name", resume->name, "The sweep; default: the latest unfinished one")
      ->type_name("NAME");
  command->add_option("--samples", resume->samples, "The new total of trials")->type_name("N");
  command->add_flag("--errored", resume->errored, "Tries the trials that failed once more");
  command
      ->add_option("--space", resume->space_path,
                   "A space file; refused unless it is what the sweep was begun with")
      ->type_name("FILE");
  TakeOneEachTime(command->add_option("--set", resume->overrides, "As for run, over --space")
                      ->type_name("KEY=VALUE"));
  command->add_option("--log", resume->log, "As for run; earlier lives' reports, too")
      ->type_name("tensorboard");
  command->add_flag("--ui", resume->ui, "As for run");
  AddPagePlace(command, resume->page);
  command->add_flag("--detach", resume->detach, "As for run");
  command->add_option("--cpus", resume->cpus, "As for run")->type_name("N")->check(kCpuRange);
  command->add_option("--gpus", resume->gpus, "As for run")->type_name("N")->check(kGpuRange);
  command
      ->add_option("--listen", resume->listen,
                   "As for run; default: where the sweep listened before; off: nowhere")
      ->type_name("HOST:PORT");
  AddTokenExpires(command, resume->token_validity);
  AddCheckpointMax(command, resume->checkpoint_bytes_max);
  commands.Bind(command, [resume = resume](const Invocation& invocation) {
    Take(invocation, *resume);
    return ResumeCommand(*resume);
  });
}

void AddRetrain(Commands& commands) {
  const auto [command, retrain] = commands.Add<RetrainOptions>(
      "retrain",
      "The best configurations of a sweep once more, at full length, several runs of each, as a "
      "sweep of its own.\nExample: tune retrain food11 --top 3 --seeds 5");
  command->add_option("name", retrain->name, "The earlier sweep; default: the latest")
      ->type_name("NAME");
  command
      ->add_option("--top", retrain->top,
                   "How many configurations; default: 1, of several objectives the whole Pareto "
                   "front")
      ->type_name("N");
  command
      ->add_option("--trial", retrain->trials,
                   "The configuration of this trial, in place of the best; may be repeated")
      ->type_name("N")
      ->allow_extra_args(false);
  command->add_option("--seeds", retrain->seeds, "Runs of each")
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--show", retrain->show, "Only shows what an earlier retrain came to");
  command->add_option("--name", retrain->run.name, "The new sweep's name; default: NAME-retrain")
      ->type_name("NAME");
  command
      ->add_option("--seed", retrain->run.seed, "The new sweep's seed; default: drawn from NAME's")
      ->type_name("N")
      ->check(IntegerFrom(0));
  command->add_option("--max-concurrent", retrain->run.max_concurrent, "Trials at a time")
      ->type_name("N");
  command->add_option("--cpus", retrain->run.cpus, "As for run")->type_name("N")->check(kCpuRange);
  command->add_option("--gpus", retrain->run.gpus, "As for run")->type_name("N")->check(kGpuRange);
  command->add_option("--listen", retrain->run.listen, "As for run")->type_name("HOST:PORT");
  AddTokenExpires(command, retrain->run.token_validity);
  AddCheckpointMax(command, retrain->run.checkpoint_bytes_max);
  command->add_flag("--detach", retrain->run.detach, "As for run");
  command->add_flag("--dry-run", retrain->run.dry_run, "As for run");
  AddFormat(command, retrain->format);
  commands.Bind(command, [retrain = retrain](const Invocation& invocation) {
    Take(invocation, retrain->run);
    retrain->width = OutputWidth();
    return Answered(RetrainCommand(*retrain, std::cout, std::cerr));
  });
}

void AddAttach(Commands& commands) {
  const auto [command, attach] = commands.Add<AttachOptions>(
      "attach",
      "Watches a sweep that runs elsewhere until it ends; Ctrl-C leaves it running.\n"
      "Example: tune attach food11");
  command->add_option("name", attach->name, "The sweep; default: the one that runs")
      ->type_name("NAME");
  commands.Bind(command, [attach = attach](const Invocation& invocation) {
    attach->db_path = invocation.db_path;
    LiveScreen screen;
    return Answered(
        AttachCommand(*attach, RealClock(), WaitForCtrlC, screen, std::cout, std::cerr));
  });
}

std::pair<CLI::App*, std::shared_ptr<ControlOptions>> AddControl(Commands& commands,
                                                                 ControlVerb verb,
                                                                 const std::string& about) {
  const auto [command, control] = commands.Add<ControlOptions>(ControlVerbName(verb), about);
  control->verb = verb;
  commands.Bind(command, [control = control](const Invocation& invocation) {
    control->db_path = invocation.db_path;
    return Answered(ControlCommand(*control, RealClock(), Wait, std::cout, std::cerr));
  });
  return {command, control};
}

// pause, unpause, stop, set and drain.
void AddControls(Commands& commands) {
  const std::pair<ControlVerb, std::string> kAboutTrials[] = {
      {ControlVerb::kPause,
       "Pauses a sweep, or one trial of it, at the next checkpoint; tune unpause goes on.\n"
       "Example: tune pause food11 --trial 3"},
      {ControlVerb::kUnpause, "Goes on with what tune pause paused.\nExample: tune unpause food11"},
      {ControlVerb::kStop,
       "Ends a sweep, or one trial of it, at the next report; what ended stays ended.\n"
       "Example: tune stop food11 --now"}};
  for (const auto& [verb, about] : kAboutTrials) {
    const auto [command, control] = AddControl(commands, verb, about);
    command
        ->add_option("name", control->name, "The sweep; default: the one that runs, or the latest")
        ->type_name("NAME");
    command->add_option("--trial", control->trial, "One trial alone, by its number")
        ->type_name("N");
    if (verb == ControlVerb::kUnpause) continue;
    command->add_flag("--now", control->now, "Without waiting for the next report");
  }
  const auto [set, control] =
      AddControl(commands, ControlVerb::kSet,
                 "Changes the settings of a sweep, also while it goes on: its limits, failure,\n"
                 "checkpoint and stop, as the space file names them.\n"
                 "Example: tune set food11 max_concurrent=4 limits.trial_time=20m");
  set->add_option("arguments", control->arguments, "[NAME] SETTING=VALUE...")->required();

  const auto [drain, leaving] = AddControl(
      commands, ControlVerb::kDrain,
      "Lets a worker of another machine leave in order: it gets no more trials, and those "
      "that it runs go on elsewhere from their checkpoints.\nExample: tune drain gpu-1");
  drain->add_option("worker", leaving->worker, "Its name as tune status shows it, or its address")
      ->type_name("WORKER")
      ->required();
}

void AddNote(Commands& commands) {
  const auto [command, note] = commands.Add<NoteOptions>(
      "note",
      "Writes a note and tags to a sweep or job, or shows them; nothing that tune decides depends "
      "on them.\nExample: tune note food11 \"the lr was too high\" --tag team=vision --tag "
      "baseline");
  command->add_option("name", note->name, "The sweep or job; default, to look: the latest")
      ->type_name("NAME");
  command->add_option("text", note->text, "The note, in place of an earlier one; \"\" removes it")
      ->type_name("TEXT");
  TakeOneEachTime(command
                      ->add_option("--tag", note->tags,
                                   "Adds a tag, or gives it another value; may be repeated")
                      ->type_name("KEY[=VALUE]"));
  TakeOneEachTime(command->add_option("--untag", note->untag, "Removes a tag")->type_name("KEY"));
  commands.Bind(command, [note = note](const Invocation& invocation) {
    note->db_path = invocation.db_path;
    return Answered(NoteCommand(*note, RealClock(), Wait, std::cout, std::cerr));
  });
}

}  // namespace

void AddSweepCommands(Commands& commands) {
  AddRun(commands);
  AddResume(commands);
  AddRetrain(commands);
  AddAttach(commands);
  AddControls(commands);
  AddNote(commands);
}

}  // namespace tune
