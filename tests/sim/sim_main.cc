// tune_sim: the simulator as a program (docs/SIMULATOR.md).
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>

#include "core/hash.h"
#include "tests/sim/swarm.h"
#include "tests/sim/world.h"

namespace tune::sim {
namespace {

constexpr char kUsage[] =
    "usage: tune_sim --seed N [--verbose]        one seed, what happens and its hash\n"
    "       tune_sim --seeds A..B [--once]       many; each twice, but with --once\n"
    "  --plant NAME                              with a deliberate bug: tune_sim --list names "
    "them\n";

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

struct Options {
  uint64_t first = 0;
  uint64_t last = 0;
  bool has_seeds = false;
  bool is_one = false;
  bool is_verbose = false;
  bool is_twice = true;
  PlantedFault planted = PlantedFault::kNone;
};

bool Parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const char* const value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (name == "--verbose") {
      options.is_verbose = true;
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
    } else if (name == "--plant" && value != nullptr && ParsePlantedFault(value)) {
      options.planted = *ParsePlantedFault(argv[++i]);
    } else {
      return false;
    }
  }
  return options.has_seeds && options.first <= options.last;
}

int RunOne(const Options& options) {
  std::printf("seed %" PRIu64 "\n", options.first);
  std::fflush(stdout);
  seed_now = options.first;
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

int RunMany(const Options& options) {
  const double start = Now();
  double told = start;
  int64_t events = 0;
  int64_t commits = 0;
  int64_t lives = 0;
  int64_t found = 0;
  uint64_t hash = 0;
  const auto count = [&](uint64_t seed) { return seed - options.first + 1; };
  for (uint64_t seed = options.first; seed <= options.last; ++seed) {
    seed_now = seed;
    Swarm swarm = DrawSwarm(seed);
    swarm.planted = options.planted;
    const RunResult result = RunSeed(swarm, options.is_twice);
    events += result.event_count;
    commits += result.commit_count;
    lives += result.tuner_lives;
    hash = Xxh64(HashToHex(result.hash), hash);
    if (!result.finding.empty()) {
      ++found;
      std::printf("seed %" PRIu64 " FOUND: %s\n", seed, result.finding.c_str());
      std::fflush(stdout);
    }
    if (Now() - told < 5) continue;
    told = Now();
    std::fprintf(stderr, "%" PRIu64 " of %" PRIu64 " seeds, %" PRId64 " found, %.0f s\n",
                 count(seed), count(options.last), found, told - start);
  }
  const double seconds = Now() - start;
  std::printf("%" PRIu64 " seeds in %.1f s, each run %s; %" PRId64 " committed events in %" PRId64
              " commits over %" PRId64
              " lives of the tuner; %.0f committed events simulated per "
              "second; %" PRId64 " found\nhash %s\n",
              count(options.last), seconds, options.is_twice ? "twice" : "once", events, commits,
              lives, static_cast<double>(events) * (options.is_twice ? 2 : 1) / seconds, found,
              HashToHex(hash).c_str());
  return found == 0 ? 0 : 1;
}

int Main(int argc, char** argv) {
  signal(SIGABRT, OnAbort);
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
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
  return options.is_one ? RunOne(options) : RunMany(options);
}

}  // namespace
}  // namespace tune::sim

int main(int argc, char** argv) { return tune::sim::Main(argc, argv); }
