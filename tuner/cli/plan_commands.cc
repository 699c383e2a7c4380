// The commands about space files: nothing of theirs runs.
#include <iostream>
#include <memory>
#include <optional>

#include "core/posix/real_clock.h"
#include "trial_runner/devices/machine_devices.h"
#include "trial_runner/devices/offered_devices.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/keep/import_command.h"
#include "tuner/cli/run/init_command.h"
#include "tuner/cli/run/plan_command.h"
#include "tuner/cli/run/simulate_command.h"
#include "tuner/cli/run/sweep.h"
#include "tuner/cli/words/complain.h"
#include "tuner/engines/cluster_file.h"
#include "tuner/spec_schema.h"

namespace tune {
namespace {

void AddInit(Commands& commands) {
  const auto [command, init] = commands.Add<InitOptions>(
      "init",
      "Writes a space file for a script, from its options and what it prints; runs nothing.\n"
      "Example: tune init train.py");
  command->add_option("script", init->script, "The script")->required();
  command->add_option("--command", init->command,
                      "What runs it, as in a shell, such as 'torchrun train.py'; default: by name");
  command->add_option("--log", init->log, "What an earlier run printed: metrics are read there");
  command->add_option("-o,--out", init->space_path, "The file to write; -: standard output")
      ->capture_default_str();
  command->add_flag("--force", init->force, "Writes over a file that is there");
  commands.Bind(command, [init = init](const Invocation& invocation) {
    init->program_dir = invocation.program_dir;
    return Answered(InitCommand(*init, std::cout, std::cerr));
  });
}

struct SchemaOptions {
  bool of_cluster = false;
};

void AddSchema(Commands& commands) {
  const auto [command, schema] =
      commands.Add<SchemaOptions>("schema",
                                  "Prints the JSON Schema of space files, for editors.\n"
                                  "Example: tune schema > space.schema.json");
  command->add_flag("--cluster", schema->of_cluster, "Of cluster files instead");
  commands.Bind(command, [schema = schema](const Invocation&) {
    std::cout << (schema->of_cluster ? ClusterSchema() : SpecSchema());
    return Answered(0);
  });
}

void AddPlan(Commands& commands) {
  const auto [command, plan] = commands.Add<PlanOptions>(
      "plan",
      "What would run: trials, rungs, epochs, how many at a time; runs nothing.\n"
      "Example: tune plan space.yaml --cpus 8 --gpus 2");
  command->add_option("space", plan->space_path, "The space file")->type_name("FILE")->required();
  command->add_option("--samples", plan->samples, "As for run")->type_name("N");
  TakeOneEachTime(
      command->add_option("--set", plan->overrides, "As for run")->type_name("KEY=VALUE"));
  plan->cpus = AvailableCpus();
  command->add_option("--cpus", plan->cpus, "As for run")->type_name("N")->check(kCpuRange);
  const auto gpus = std::make_shared<std::optional<int64_t>>();
  command->add_option("--gpus", *gpus, "As for run")->type_name("N")->check(kGpuRange);
  AddFormat(command, plan->format);
  commands.Bind(command, [plan = plan, gpus](const Invocation& invocation) {
    plan->db_path = invocation.db_path;
    plan->width = OutputWidth();
    const MachineDevices here = LookUpDevices();
    Result<std::vector<Device>> devices = OfferedDevices(*gpus, here.visible, here.has_any);
    if (!devices.ok()) return Complain(devices.status(), std::cerr);
    plan->devices = *std::move(devices);
    return Answered(PlanCommand(*plan, std::cout, std::cerr));
  });
}

void AddSimulate(Commands& commands) {
  const auto [command, simulate] = commands.Add<SimulateOptions>(
      "simulate",
      "A whole sweep in virtual time, over recorded learning curves or the space's curve formula.\n"
      "Example: tune simulate space.yaml --curves tune.db:food11 --workers 8 --compare asha,fifo");
  command->add_option("space", simulate->space_path, "The space file")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--curves", simulate->curves,
                   "A CSV file with a line a report, or the database of an earlier sweep, also "
                   "as tune.db:NAME")
      ->type_name("FILE");
  command->add_option("--workers", simulate->workers, "How many workers")
      ->type_name("N")
      ->required();
  command->add_option("--cpus", simulate->cpus, "CPUs of each worker; default: as one trial needs")
      ->type_name("N");
  command->add_option("--gpus", simulate->gpus, "GPUs of each worker; default: as one trial needs")
      ->type_name("N");
  command->add_option("--samples", simulate->samples, "As for run")->type_name("N");
  command->add_option("--seed", simulate->seed, "As for run; default: the file's, else 0")
      ->type_name("N");
  command->add_option("--seeds", simulate->seeds, "Plays it with so many seeds, from --seed on")
      ->type_name("N")
      ->capture_default_str();
  TakeOneEachTime(
      command->add_option("--set", simulate->overrides, "As for run")->type_name("KEY=VALUE"));
  command
      ->add_option("--compare", simulate->compare,
                   "Schedulers by name, to be put side by side: asha,fifo")
      ->type_name("SCHEDULERS")
      ->delimiter(',')
      ->allow_extra_args(false);
  TakeOneEachTime(
      command
          ->add_option("--scheduler", simulate->schedulers,
                       "One more to compare, as in the space file: '{asha: {max_t: 9}}'")
          ->type_name("SCHEDULER"));
  AddFormat(command, simulate->format);
  commands.Bind(command, [simulate = simulate](const Invocation&) {
    simulate->width = OutputWidth();
    return Answered(SimulateCommand(*simulate, RealClock(), std::cout, std::cerr));
  });
}

void AddImport(Commands& commands) {
  const auto [command, import] = commands.Add<ImportOptions>(
      "import",
      "A space file from AutoTuner's configuration.\nExample: tune import autotuner.json --out "
      "space.yaml");
  command->add_option("file", import->path, "AutoTuner's JSON")->type_name("FILE")->required();
  command->add_option("--out", import->out, "The space file; default: standard output")
      ->type_name("FILE");
  commands.Bind(command, [import = import](const Invocation&) {
    const Status imported = ImportCommand(*import, std::cout, std::cerr);
    if (imported.ok()) return Answered(0);
    Tell("tune: " + imported.message());
    return 2;
  });
}

}  // namespace

void AddPlanCommands(Commands& commands) {
  AddInit(commands);
  AddSchema(commands);
  AddPlan(commands);
  AddSimulate(commands);
  AddImport(commands);
}

}  // namespace tune
