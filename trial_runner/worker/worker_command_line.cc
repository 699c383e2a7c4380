#include "trial_runner/worker/worker_command_line.h"

#include <string>

#include "core/posix/environment.h"

namespace tune {

void AddWorkerOptions(CLI::App& app, WorkerOptions& options, double& cpus) {
  app.add_option("--connect", options.connect, "The tuner's address")
      ->type_name("HOST:PORT")
      ->required();
  app.add_option("--join", options.join,
                 "The token in the line that tune run --listen prints (or TUNE_JOIN)")
      ->type_name("TOKEN");
  app.add_option("--cpus", cpus, "CPUs to offer (default: this machine's cores)")
      ->type_name("N")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--gpus", options.gpu_count,
                 "GPUs to offer (default: all that NVIDIA's driver knows here)")
      ->type_name("N")
      ->check(CLI::Range(0, 1024));
  app.add_option("--name", options.name, "What people call it (default: the host's name)")
      ->type_name("WORKER");
  options.cache = UserCacheFolder();
  app.add_option("--cache", options.cache,
                 "Where folders that the tuner sends and what `setup` makes are kept (default: " +
                     (options.cache.empty() ? std::string("none") : options.cache) + ")")
      ->type_name("DIR");
  app.add_option("--cache-budget", options.cache_budget,
                 "How large it may become: what was used least is removed when the worker starts "
                 "(default: 50GiB)")
      ->type_name("SIZE");
  app.add_option("--notice", options.notice,
                 "Where it hears that its machine is about to be taken away: ec2, gce, file:PATH "
                 "(appears) or command:TEXT (ends with status 0); it then leaves as after tune "
                 "drain, SIGTERM or SIGUSR1")
      ->type_name("SOURCE");
  app.add_option("--grace", options.grace,
                 "How long its trials may take to save and leave then (default: 25s)")
      ->type_name("TIME");
  app.add_option("--drain-after", options.drain_after,
                 "Leave in order so long after its start, such as 3h50m of a job of four hours")
      ->type_name("TIME");
  app.add_flag("--local", options.is_local, "Ends, with all its trials, when the tuner is gone");
  app.add_option("--prewarm", options.prewarm, "Start a trial process of this trainable at once")
      ->type_name("KIND");
}

}  // namespace tune
