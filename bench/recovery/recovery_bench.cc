// How long does it take to be where an interrupted sweep was, and what does a report cost on disk?
//
// A sweep of 100,000 reports is decided by the real controller and written by the real store, at
// full speed: trials that answer at once, 16 at a time. Then Recover reads it back, and `tune
// resume
// --samples N+1` goes on with it. Prints a Markdown table; --toy: small, that it runs; --million:
// one sweep of 1,000,000 reports.
#include <stdlib.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/tuner/instant_sweep.h"

namespace tune {
namespace {

namespace fs = std::filesystem;
using testing::InstantSweep;
using testing::kInstantBegin;
using testing::WriteInstantSweep;
using SteadyClock = std::chrono::steady_clock;

constexpr int64_t kIterations = 100;

double MsSince(SteadyClock::time_point begin) {
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - begin).count();
}

struct Measured {
  double ms = 0;
  double mib = 0;  // What it needed at most, beyond what it began with.
};

// What `recovery_bench --recover FOLDER` does: one recovery, in a process whose memory is its own.
int RecoverOnce(const std::string& folder) {
  const auto begin = SteadyClock::now();
  auto store = SqliteStore::Open(folder + "/tune.db", Access::kWrite, kInstantBegin);
  TUNE_CHECK(store.ok());
  const auto experiments = (*store)->ListExperiments();
  TUNE_CHECK(experiments.ok());
  rusage before = {};
  getrusage(RUSAGE_SELF, &before);
  const auto recovered = Recover(experiments->front(), folder + "/tune.artifacts", **store);
  if (!recovered.ok()) std::fprintf(stderr, "%s\n", recovered.status().message().c_str());
  const double ms = MsSince(begin);
  rusage after = {};
  getrusage(RUSAGE_SELF, &after);
  std::printf("%.3f %.3f\n", ms, static_cast<double>(after.ru_maxrss - before.ru_maxrss) / 1024);
  return recovered.ok() ? 0 : 1;
}

Measured MeasureRecovery(const std::string& self, const std::string& folder) {
  FILE* const pipe = popen(("'" + self + "' --recover '" + folder + "'").c_str(), "r");
  TUNE_CHECK(pipe != nullptr);
  Measured measured;
  TUNE_CHECK(std::fscanf(pipe, "%lf %lf", &measured.ms, &measured.mib) == 2);
  TUNE_CHECK(pclose(pipe) == 0);
  return measured;
}

// From typing to the end: recovery, and one more trial.
double MeasureResume(const std::string& programs, const std::string& folder, int64_t samples) {
  const std::string command = "cd '" + folder + "' && '" + fs::absolute(programs).string() +
                              "/tune' resume --samples " + std::to_string(samples) +
                              " > /dev/null 2> resume.err";
  const auto begin = SteadyClock::now();
  const int status = std::system(command.c_str());
  if (status != 0) std::fprintf(stderr, "%s failed with %d\n", command.c_str(), status);
  TUNE_CHECK(status == 0);
  return MsSince(begin);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Load {
  const char* name;
  InstantSweep sweep;
};

void Measure(const Load& load, const std::string& self, const std::string& programs,
             const std::string& folder, int rounds) {
  const testing::WrittenSweep sweep = WriteInstantSweep(load.sweep, folder);
  const auto bytes = static_cast<double>(fs::file_size(folder + "/tune.db"));
  std::vector<double> recoveries;
  std::vector<double> resumes;
  double mib = 0;
  for (int i = 0; i < rounds; ++i) {
    const Measured measured = MeasureRecovery(self, folder);
    recoveries.push_back(measured.ms);
    mib = std::max(mib, measured.mib);
  }
  for (int i = 0; i < rounds; ++i) {
    resumes.push_back(MeasureResume(programs, folder, sweep.trials + 1 + i));
  }
  std::printf("| %s | %ld | %ld | %ld | %.0f | %.0f (%.0f to %.0f) | %.0f | %.0f |\n", load.name,
              sweep.trials, sweep.reports, sweep.steps, bytes / static_cast<double>(sweep.reports),
              Median(recoveries), *std::min_element(recoveries.begin(), recoveries.end()),
              *std::max_element(recoveries.begin(), recoveries.end()), mib, Median(resumes));
  std::fflush(stdout);
}

enum class Size { kToy, kUsual, kMillion };

int Main(const std::string& self, const std::string& programs, Size size) {
  const bool is_toy = size == Size::kToy;
  const int64_t samples = is_toy ? 2 : size == Size::kMillion ? 10'000 : 1'000;
  const auto sweep = [samples](size_t events_per_step) {
    InstantSweep made;
    made.samples = samples;
    made.iterations = kIterations;
    made.events_per_step = events_per_step;
    return made;
  };
  InstantSweep asha = sweep(4);
  asha.samples *= 2;
  asha.scheduler = "{asha: {max_t: 100, grace_period: 25, reduction_factor: 2}}";
  InstantSweep checkpoints = sweep(1);
  checkpoints.has_checkpoints = true;
  InstantSweep older = sweep(1);
  older.is_of_older_build = true;
  std::vector<Load> loads = {{"fifo, 16 reports a commit", sweep(16)}};
  if (size != Size::kMillion) {
    loads.push_back({"fifo, a commit each", sweep(1)});
    loads.push_back({"the same, as journalled before schema 9", older});
    loads.push_back({"ASHA, 4 a commit", asha});
    loads.push_back({"fifo, a commit and a checkpoint each", checkpoints});
  }
  std::printf(
      "| sweep | trials | reports | commits | bytes a report | Recover, ms (least to most) |"
      " memory, MiB | tune resume and one more trial, ms |\n|---|---|---|---|---|---|---|---|\n");
  for (const Load& load : loads) {
    std::string folder = (fs::path(is_toy ? "/tmp" : ".") / "tune_recovery_XXXXXX").string();
    TUNE_CHECK(mkdtemp(folder.data()) != nullptr);
    folder = fs::absolute(folder).string();
    Measure(load, self, programs, folder, is_toy ? 1 : 5);
    fs::remove_all(folder);
  }
  return 0;
}

}  // namespace
}  // namespace tune

// usage: recovery_bench FOLDER_OF_PROGRAMS [--toy | --million]
int main(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  const std::string second = argc > 2 ? argv[2] : "";
  if (first == "--recover" && argc == 3) return tune::RecoverOnce(second);
  if (first.empty() || argc > 3 || (argc == 3 && second != "--toy" && second != "--million")) {
    std::fprintf(stderr, "usage: recovery_bench FOLDER_OF_PROGRAMS [--toy | --million]\n");
    return 2;
  }
  const tune::Size size = second == "--toy"       ? tune::Size::kToy
                          : second == "--million" ? tune::Size::kMillion
                                                  : tune::Size::kUsual;
  return tune::Main(std::filesystem::canonical("/proc/self/exe").string(), first, size);
}
