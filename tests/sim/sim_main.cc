// tune_sim: the simulator as a program (docs/SIMULATOR.md).
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/hash.h"
#include "tests/sim/head_run.h"
#include "tests/sim/scenarios.h"
#include "tests/sim/swarm.h"
#include "tests/sim/world.h"

namespace tune::sim {
namespace {

constexpr char kUsage[] = R"(usage:
  tune_sim --seed N [--verbose]           one seed: its options, what happens, and its hash
  tune_sim --seeds A..B [--once] [--jobs N]
                                          many, by N processes; each twice, but with --once
  tune_sim --head --seed N, --seeds A..B  the same of a head with many sweeps
  tune_sim --scenario TEXT [--verbose]    those whose name has the text in it
  tune_sim --list                         scenarios and planted faults
  --plant NAME                            with a deliberate bug
)";

volatile uint64_t seed_now = 0;

// A check of the production code failed: say under which seed.
void OnAbort(int) {
  char text[64];
  const int size = std::snprintf(text, sizeof text, "in seed %" PRIu64 "\n", seed_now);
  if (write(STDERR_FILENO, text, static_cast<size_t>(size)) < 0) _exit(2);
  _exit(1);
}

double Now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Of this process and its children.
double CpuSeconds() {
  double seconds = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage;
    getrusage(who, &usage);
    for (const timeval& t : {usage.ru_utime, usage.ru_stime}) {
      seconds += static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    }
  }
  return seconds;
}

struct Options {
  uint64_t first = 0;
  uint64_t last = 0;
  bool has_seeds = false;
  bool is_one = false;
  bool is_head = false;
  bool is_verbose = false;
  bool is_twice = true;
  PlantedFault planted = PlantedFault::kNone;
  std::string scenario;
  uint64_t jobs = 1;
};

bool Parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const char* const value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (name == "--verbose") {
      options.is_verbose = true;
    } else if (name == "--head") {
      options.is_head = true;
    } else if (name == "--once") {
      options.is_twice = false;
    } else if (name == "--seed" && value != nullptr) {
      options.first = options.last = strtoull(argv[++i], nullptr, 10);
      options.has_seeds = options.is_one = true;
    } else if (name == "--seeds" && value != nullptr && std::strstr(value, "..") != nullptr) {
      options.first = strtoull(value, nullptr, 10);
      options.last = strtoull(std::strstr(value, "..") + 2, nullptr, 10);
      options.has_seeds = true;
      ++i;
    } else if (name == "--jobs" && value != nullptr && strtoull(value, nullptr, 10) > 0) {
      options.jobs = strtoull(argv[++i], nullptr, 10);
    } else if (name == "--scenario" && value != nullptr) {
      options.scenario = argv[++i];
    } else if (name == "--plant" && value != nullptr && ParsePlantedFault(value)) {
      options.planted = *ParsePlantedFault(argv[++i]);
    } else {
      return false;
    }
  }
  return !options.scenario.empty() || (options.has_seeds && options.first <= options.last);
}

// A head's seed, once more to compare the hash where that is asked for.
HeadRunResult RunHeadSeed(const Options& options, uint64_t seed) {
  HeadRunResult result = RunHead(seed, options.is_verbose, options.planted);
  if (options.is_twice && result.finding.empty() &&
      RunHead(seed, false, options.planted).hash != result.hash) {
    result.finding = "the same seed gave another trace";
  }
  return result;
}

int RunOneHead(const Options& options) {
  const HeadRunResult result = RunHeadSeed(options, options.first);
  std::printf("%" PRId64 " sweeps, %" PRId64 " reports in %" PRId64 " commits over %" PRId64
              " lives of the head\n",
              result.sweeps, result.reports, result.commits, result.lives);
  if (!result.finding.empty()) std::printf("FOUND: %s\n", result.finding.c_str());
  std::printf("hash %s\n", HashToHex(result.hash).c_str());
  return result.finding.empty() ? 0 : 1;
}

int RunOne(const Options& options) {
  std::printf("seed %" PRIu64 "\n", options.first);
  std::fflush(stdout);
  seed_now = options.first;
  if (options.is_head) return RunOneHead(options);
  Swarm swarm = DrawSwarm(options.first);
  swarm.planted = options.planted;
  std::fputs(Describe(swarm).c_str(), stdout);
  const RunResult result = RunSeed(swarm, options.is_twice, options.is_verbose);
  for (const auto& [number, line] : result.table) {
    std::printf("trial %" PRId64 ": %s\n", number.value, line.c_str());
  }
  std::printf("%" PRId64 " events in %" PRId64 " commits over %" PRId64 " lives of the tuner\n",
              result.event_count, result.commit_count, result.tuner_lives);
  if (!result.finding.empty()) std::printf("FOUND: %s\n", result.finding.c_str());
  std::printf("hash %s\n", HashToHex(result.hash).c_str());
  return result.finding.empty() ? 0 : 1;
}

// What many seeds came to.
struct Summary {
  int64_t seeds = 0;
  int64_t events = 0;
  int64_t commits = 0;
  int64_t lives = 0;
  int64_t found = 0;
  uint64_t hash = 0;  // In any order.
  std::map<std::string, int64_t> coverage;

  void Add(const Summary& other) {
    seeds += other.seeds;
    events += other.events;
    commits += other.commits;
    lives += other.lives;
    found += other.found;
    hash += other.hash;
    for (const auto& [what, times] : other.coverage) coverage[what] += times;
  }
};

RunResult RunAnySeed(const Options& options, uint64_t seed) {
  if (options.is_head) {
    const HeadRunResult head = RunHeadSeed(options, seed);
    RunResult result;
    result.finding = head.finding;
    result.hash = head.hash;
    result.event_count = head.reports;
    result.commit_count = head.commits;
    result.tuner_lives = head.lives;
    result.coverage = {{"sweep", head.sweeps},
                       {"commit of several sweeps", head.commits_together},
                       {"full disk waited out", head.full_disks}};
    return result;
  }
  Swarm swarm = DrawSwarm(seed);
  swarm.planted = options.planted;
  return RunSeed(swarm, options.is_twice);
}

// Every `jobs`th seed, from the `offset`th on.
Summary RunStripe(const Options& options, uint64_t offset) {
  Summary summary;
  const double start = Now();
  double told = start;
  for (uint64_t seed = options.first + offset; seed <= options.last; seed += options.jobs) {
    seed_now = seed;
    const RunResult result = RunAnySeed(options, seed);
    ++summary.seeds;
    summary.events += result.event_count;
    summary.commits += result.commit_count;
    summary.lives += result.tuner_lives;
    summary.hash += Xxh64(HashToHex(result.hash), seed);
    for (const auto& [what, times] : result.coverage) summary.coverage[what] += times;
    if (!result.finding.empty()) {
      ++summary.found;
      std::printf("seed %" PRIu64 " FOUND: %s\n", seed, result.finding.c_str());
      std::fflush(stdout);
    }
    if (offset > 0 || Now() - told < 5) continue;
    told = Now();
    std::fprintf(stderr, "seed %" PRIu64 " of %" PRIu64 "..%" PRIu64 ", %.0f s\n", seed,
                 options.first, options.last, told - start);
  }
  return summary;
}

void Write(const Summary& summary, std::FILE* out) {
  std::fprintf(out, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRIu64 "\n",
               summary.seeds, summary.events, summary.commits, summary.lives, summary.found,
               summary.hash);
  for (const auto& [what, times] : summary.coverage) {
    std::fprintf(out, "%" PRId64 " %s\n", times, what.c_str());
  }
}

bool Read(std::FILE* in, Summary& summary) {
  if (std::fscanf(in, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNu64 "\n",
                  &summary.seeds, &summary.events, &summary.commits, &summary.lives, &summary.found,
                  &summary.hash) != 6) {
    return false;
  }
  int64_t times = 0;
  char what[200];
  while (std::fscanf(in, "%" SCNd64 " %199[^\n]\n", &times, what) == 2) {
    summary.coverage[what] = times;
  }
  return true;
}

// Each stripe but the first in a process of its own. False: one died, and has said of what.
bool RunStripes(const Options& options, Summary& summary) {
  std::vector<std::pair<pid_t, std::FILE*>> children;
  for (uint64_t offset = 1; offset < options.jobs; ++offset) {
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) return false;
    const pid_t pid = fork();
    if (pid < 0) return false;
    if (pid == 0) {
      close(pipe_ends[0]);
      std::FILE* const out = fdopen(pipe_ends[1], "w");
      Write(RunStripe(options, offset), out);
      std::fclose(out);
      std::_Exit(0);
    }
    close(pipe_ends[1]);
    children.emplace_back(pid, fdopen(pipe_ends[0], "r"));
  }
  summary = RunStripe(options, 0);
  bool is_whole = true;
  for (const auto& [pid, in] : children) {
    Summary other;
    is_whole = Read(in, other) && is_whole;
    summary.Add(other);
    std::fclose(in);
    waitpid(pid, nullptr, 0);
  }
  return is_whole;
}

int RunMany(const Options& options) {
  const double start = Now();
  Summary summary;
  const bool is_whole = RunStripes(options, summary);
  const double seconds = Now() - start;
  for (const auto& [what, times] : summary.coverage) {
    std::printf("%10" PRId64 "  %s\n", times, what.c_str());
  }
  const double events = static_cast<double>(summary.events) * (options.is_twice ? 2 : 1);
  std::printf(
      "%" PRId64 " seeds in %.1f s by %" PRIu64 " processes, each seed %s\n%" PRId64
      " committed events in %" PRId64 " commits over %" PRId64
      " lives of the tuner; %.0f committed events simulated per second, %.0f per second of a "
      "processor\n%" PRId64 " found\nhash %s\n",
      summary.seeds, seconds, options.jobs, options.is_twice ? "twice" : "once", summary.events,
      summary.commits, summary.lives, events / seconds, events / CpuSeconds(), summary.found,
      HashToHex(summary.hash).c_str());
  return summary.found == 0 && is_whole ? 0 : 1;
}

int RunScenarios(const Options& options) {
  int64_t found = 0;
  int64_t count = 0;
  for (const Scenario& scenario : AllScenarios()) {
    if (std::strstr(scenario.name, options.scenario.c_str()) == nullptr) continue;
    ++count;
    std::printf("%s\n", scenario.name);
    std::fflush(stdout);
    const std::string finding = scenario.run(options.is_verbose);
    if (finding.empty()) continue;
    ++found;
    std::printf("  FOUND: %s\n", finding.c_str());
  }
  if (count == 0)
    std::fprintf(stderr, "no scenario has '%s' in its name\n", options.scenario.c_str());
  return found == 0 && count > 0 ? 0 : 1;
}

int Main(int argc, char** argv) {
  signal(SIGABRT, OnAbort);
  // Each world takes and gives back the same memory: it need not go to the system and back.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
    for (const Scenario& scenario : AllScenarios()) std::printf("scenario %s\n", scenario.name);
    for (const PlantedFault fault : AllPlantedFaults()) {
      std::printf("plant %s\n", std::string(PlantedFaultName(fault)).c_str());
    }
    return 0;
  }
  Options options;
  if (!Parse(argc, argv, options)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  if (!options.scenario.empty()) return RunScenarios(options);
  return options.is_one ? RunOne(options) : RunMany(options);
}

}  // namespace
}  // namespace tune::sim

int main(int argc, char** argv) { return tune::sim::Main(argc, argv); }
