// The commands of a head that several people's sweeps share.
#include <signal.h>
#include <unistd.h>

#include <iostream>
#include <optional>
#include <string>

#include "core/posix/environment.h"
#include "core/posix/real_clock.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/head/cluster_command.h"
#include "tuner/cli/head/head.h"
#include "tuner/cli/head/job_commands.h"
#include "tuner/cli/head/login_command.h"
#include "tuner/cli/head/queue_command.h"
#include "tuner/cli/head/submit_command.h"

namespace tune {
namespace {

// Which sweeps and jobs that are over it keeps.
void AddKeep(CLI::App* command, RetentionRule& keep) {
  command
      ->add_option_function<std::string>(
          "--keep",
          [&keep](const std::string& text) {
            const auto parsed = ParseDuration(text);
            if (!parsed.ok()) throw CLI::ValidationError("--keep", parsed.status().message());
            keep.age = *parsed;
          },
          "How long sweeps and jobs stay when they are over, such as 30d, with all that they left; "
          "those with the tag keep stay; default: all do")
      ->type_name("DURATION");
  command
      ->add_option_function<std::string>(
          "--keep-bytes",
          [&keep](const std::string& text) {
            const auto parsed = ParseBytes(text);
            if (!parsed.ok()) throw CLI::ValidationError("--keep-bytes", parsed.status().message());
            keep.bytes = *parsed;
          },
          "How much those that are over may have left in all, such as 200GB; the oldest go first")
      ->type_name("SIZE");
}

void AddLease(CLI::App* command, Duration& lease) {
  command
      ->add_option_function<std::string>(
          "--lease",
          [&lease](const std::string& text) {
            const auto parsed = ParseDuration(text);
            if (!parsed.ok()) throw CLI::ValidationError("--lease", parsed.status().message());
            if (*parsed < kHeadLeaseMin) {
              throw CLI::ValidationError("--lease", "read " + text + ", expected at least 1s");
            }
            lease = *parsed;
          },
          "How long a worker of another machine that is not heard of keeps its trials")
      ->type_name("DURATION")
      ->default_str("60s");
}

void AddHead(Commands& commands) {
  const auto place = std::make_shared<PagePlace>();
  const auto serves_page = std::make_shared<bool>(false);
  const auto [command, head] = commands.Add<HeadCommandOptions>(
      "head",
      "Holds a database, a pool of workers and any number of sweeps, which tune submit gives it; "
      "started again, it goes on with all that ran.\nExample: tune head --listen 0.0.0.0:7433");
  command
      ->add_option("--listen", head->listen,
                   "HOST:PORT for workers on other machines, over TLS; prints the line with which "
                   "they join; default: where this head listened before; off: nowhere")
      ->type_name("HOST:PORT");
  AddTokenExpires(command, head->token_validity);
  AddCheckpointMax(command, head->checkpoint_bytes_max);
  command
      ->add_option("--cpus", head->cpus,
                   "CPUs that its own worker offers; default: this machine's; 0: it has none")
      ->type_name("N")
      ->check(kCpuRange);
  command->add_option("--gpus", head->gpus, "GPUs likewise")->type_name("N")->check(kGpuRange);
  AddKeep(command, head->keep);
  AddLease(command, head->lease);
  command->add_flag("--ui", *serves_page,
                    "Serves the page of all sweeps, as tune ui --act does; its key stays the same");
  AddPagePlace(command, *place);
  command->add_flag("--detach", head->detach,
                    "Goes on in the background, also when the terminal closes");
  command
      ->add_option("--cluster", head->cluster_path,
                   "A cluster file, whose pools it has; tune cluster up starts it so")
      ->type_name("FILE")
      ->excludes("--listen")
      ->excludes("--cpus")
      ->excludes("--gpus")
      ->excludes("--http");
  commands.Bind(command, [head = head, place, serves_page](const Invocation& invocation) {
    if (*serves_page || place->is_given()) head->page = *place;
    head->db_path = invocation.db_path;
    head->program_dir = invocation.program_dir;
    signal(SIGPIPE, SIG_IGN);
    return HeadCommand(*head);
  });
}

void AddJobOptions(CLI::App* command, SubmitOptions& submit) {
  JobOptions& job = submit.job;
  const auto add = [command](const char* option, std::optional<std::string>& value,
                             const char* about, const char* type) {
    command->add_option(option, value, about)->type_name(type)->group("Of a program");
  };
  add("--cpus", job.cpus, "CPUs that it needs; default: 1", "N");
  add("--gpus", job.gpus, "GPUs, or a part of one: 0.5", "N");
  add("--gpu-memory", job.gpu_memory, "Memory of a GPU", "BYTES");
  add("--memory", job.memory, "Memory that it may have", "BYTES");
  add("--workers", job.workers,
      "So many programs, ranks that each have that and find each other by RANK, MASTER_ADDR and "
      "the like; default: 1",
      "N");
  command
      ->add_flag("--spread", job.spread,
                 "The ranks may run on several machines, whose network is trusted")
      ->group("Of a program");
  add("--time", job.time, "How long it may run", "TIME");
  add("--unplaceable", job.unplaceable,
      "How long it waits for a machine that could ever take it; default: without end", "TIME");
  add("--setup", job.setup, "A shell's line that makes its folder ready, once on each machine",
      "TEXT");
  command->add_option("--working-dir", job.working_dir, "Where it runs; default: here")
      ->type_name("DIR")
      ->group("Of a program");
  TakeOneEachTime(
      command
          ->add_option(
              "--env", job.env,
              "A variable of its environment; NAME alone: as it is where the program runs; may be "
              "repeated")
          ->type_name("NAME=VALUE")
          ->group("Of a program"));
  command
      ->add_option("--retries", job.retries,
                   "How often it is tried again when it has failed; -1: without end. Not when "
                   "--time has ended it")
      ->type_name("N")
      ->group("Of a program");
  command->add_flag("--no-wait", submit.no_wait, "Prints the job's name and leaves it alone")
      ->group("Of a program");
}

void AddSubmit(Commands& commands) {
  const auto [command, submit] = commands.Add<SubmitOptions>(
      "submit",
      "Gives the head that holds the database a sweep, or a job: any program that runs once. A "
      "job's output is followed, and its exit status passed on.\nExample: tune submit space.yaml "
      "--samples 16\nExample: tune submit --gpus 1 -- python3 train.py --epochs 20");
  RunOptions& run = submit->run;
  command
      ->add_option("file_or_program", submit->words,
                   "A space file (.yaml, .json), or behind -- a program with its arguments")
      ->type_name("FILE | -- PROGRAM ARGUMENT...");
  CLI::Option* const again =
      command
          ->add_option("--again", submit->again,
                       "Submits this sweep or job of the head again, as it was or changed: --set "
                       "KEY=VALUE; prints the new one's name")
          ->type_name("NAME");
  command->add_option("--name", run.name, "Its name; default: the file's or the script's")
      ->type_name("NAME");
  command->add_option("--priority", run.priority, "Higher ones are served first; default: 0")
      ->type_name("N");
  TakeOneEachTime(
      command
          ->add_option("--after", run.after,
                       "Begins when this sweep or job is over; may be repeated. Where one fails or "
                       "is stopped, it is stopped, too")
          ->type_name("NAME"));
  AddLabels(command, run.note, run.tags);
  command
      ->add_option("--id", submit->id,
                   "A key of your own: submitted again with it, it is the same sweep or job")
      ->type_name("KEY");
  command->add_option("--samples", run.samples, "As for run")->type_name("N")->group("Of a sweep");
  command->add_option("--seed", run.seed, "As for run")
      ->type_name("N")
      ->check(IntegerFrom(0))
      ->group("Of a sweep");
  command->add_option("--max-concurrent", run.max_concurrent, "As for run")
      ->type_name("N")
      ->group("Of a sweep");
  TakeOneEachTime(command->add_option("--set", run.overrides, "As for run")
                      ->type_name("KEY=VALUE")
                      ->group("Of a sweep"));
  AddJobOptions(command, *submit);
  for (const char* const other : {"--after", "--note", "--tag", "--id"}) {
    again->excludes(command->get_option(other));
  }
  commands.Bind(command, [submit = submit](const Invocation& invocation) {
    submit->run.db_path = invocation.db_path;
    submit->head = invocation.head;
    submit->run.program_dir = invocation.program_dir;
    submit->run.command_line = invocation.command_line;
    submit->run.data_dir = EnvironmentText("FOOD11_DATA_DIR");
    if (submit->words.size() == 1) submit->run.space_path = submit->words.front();
    return Answered(SubmitCommand(*submit, RealClock(), WaitForCtrlC, std::cout, std::cerr));
  });
}

void AddJobs(Commands& commands) {
  const auto [command, jobs] = commands.Add<JobsOptions>(
      "jobs",
      "The jobs of the database: their states, why they wait, what they need.\nExample: "
      "tune jobs --open");
  command->add_flag("--open", jobs->open_only, "Only those that are not over");
  AddTagFilter(command, jobs->tags);
  AddFormat(command, jobs->format);
  commands.Bind(command, [jobs = jobs](const Invocation& invocation) {
    jobs->db_path = invocation.db_path;
    jobs->width = OutputWidth();
    return Answered(JobsCommand(*jobs, RealClock(), std::cout, std::cerr));
  });
}

void AddQueue(Commands& commands) {
  const auto [command, queue] = commands.Add<QueueOptions>(
      "queue",
      "Which sweep or job of the head is given the next free place, and why each waits.\nExample: "
      "tune queue");
  AddFormat(command, queue->format);
  commands.Bind(command, [queue = queue](const Invocation& invocation) {
    queue->db_path = invocation.db_path;
    queue->width = OutputWidth();
    return Answered(QueueCommand(*queue, RealClock(), std::cout, std::cerr));
  });
}

void AddCluster(Commands& commands) {
  const auto [command, cluster] = commands.Add<ClusterOptions>(
      "cluster",
      "Workers from Slurm or Kubernetes, over SSH or by commands of your own, as many as the work "
      "needs: up "
      "starts the head and its pools, status shows them, down gives all workers back.\nExample: "
      "tune cluster up cluster.yaml\nExample: tune cluster down cluster.yaml --now");
  command->add_option("action", cluster->action, "up, status or down")
      ->type_name("up|status|down")
      ->check(CLI::IsMember({"up", "status", "down"}));
  command->add_option("file", cluster->path, "The cluster file; default: cluster.yaml")
      ->type_name("FILE");
  command->add_flag("--now", cluster->now,
                    "With down: trials are not waited for until they are "
                    "saved; they go on from their last checkpoints");
  command
      ->add_option_function<std::string>(
          "--wait",
          [cluster = cluster](const std::string& text) {
            const auto parsed = ParseDuration(text);
            if (!parsed.ok()) throw CLI::ValidationError("--wait", parsed.status().message());
            cluster->patience = *parsed;
          },
          "How long up waits for the pools' minimum of workers, and down for their end")
      ->type_name("DURATION")
      ->default_str("10m");
  AddFormat(command, cluster->format);
  commands.Bind(command, [cluster = cluster](const Invocation& invocation) {
    cluster->db_path = invocation.db_path;
    cluster->program_dir = invocation.program_dir;
    cluster->width = OutputWidth();
    return Answered(ClusterCommand(*cluster, RealClock(), WaitForCtrlC, std::cout, std::cerr));
  });
}

void AddWait(Commands& commands) {
  const auto [command, wait] = commands.Add<WaitOptions>(
      "wait",
      "Waits until jobs are over, and ends with the exit status of the first that did not "
      "end well.\nExample: tune wait train evaluate");
  command->add_option("jobs", wait->names, "The jobs")->type_name("NAME...")->required();
  commands.Bind(command, [wait = wait](const Invocation& invocation) {
    wait->db_path = invocation.db_path;
    return Answered(WaitCommand(*wait, RealClock(), WaitForCtrlC, std::cout, std::cerr));
  });
}

void AddLogin(Commands& commands) {
  const auto [command, login] = commands.Add<LoginOptions>(
      "login",
      "Keeps the address of a head elsewhere, with the key in it, under a name for --head and "
      "TUNE_HEAD; it is read from standard input, so that no other user of the machine sees "
      "it.\nExample: tune login lab < ada.head\nExample: tune list --head lab");
  command->add_option("name", login->name, "How it is called here")->type_name("NAME")->required();
  command->add_flag("--forget", login->forget, "Forgets the head of this name");
  commands.Bind(command, [login = login](const Invocation&) {
    login->is_terminal = isatty(STDIN_FILENO) != 0;
    return Answered(LoginCommand(*login, std::cin, std::cout, std::cerr));
  });
}

}  // namespace

void AddHeadCommands(Commands& commands) {
  AddHead(commands);
  AddSubmit(commands);
  AddJobs(commands);
  AddQueue(commands);
  AddWait(commands);
  AddCluster(commands);
  AddLogin(commands);
}

}  // namespace tune
