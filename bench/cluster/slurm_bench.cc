// A cluster on a real Slurm of this machine (tests/e2e/slurm_rig.h): from `tune run --cluster` to
// the first committed report, beside what sbatch alone takes to start a script; and how often
// Slurm is called for many workers.
//
//   slurm_bench [--rounds N] [--workers N] [--toy]
//
// Ends with 77 where Slurm is not installed.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/e2e/cluster_files.h"
#include "tests/e2e/curve_sweep.h"
#include "tests/e2e/free_ports.h"
#include "tests/e2e/program.h"
#include "tests/e2e/slurm_rig.h"

namespace tune::testing {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

double SecondsSince(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Calls of Slurm's programs are written down, and go on to them.
class Calls {
 public:
  explicit Calls(const TestFolder& folder) : log_(folder / "calls") {
    fs::create_directory(folder / "wrapped");
    const std::string path = std::getenv("PATH");
    for (const char* const name : {"sbatch", "squeue", "scancel", "sinfo", "sacct", "scontrol"}) {
      const std::string file = folder.Write(
          std::string("wrapped/") + name, "#!/bin/sh\necho " + std::string(name) + " >>'" + log_ +
                                              "'\nPATH='" + path + "' exec " + name + " \"$@\"\n");
      fs::permissions(file, fs::perms::owner_all);
    }
    setenv("PATH", (folder / "wrapped:" + path).c_str(), 1);
    path_ = path;
  }
  ~Calls() { setenv("PATH", path_.c_str(), 1); }

  // Those since the last look.
  std::map<std::string, int> Take() {
    std::map<std::string, int> calls;
    std::ifstream in(log_);
    for (std::string line; std::getline(in, line);) ++calls[line];
    fs::remove(log_);
    return calls;
  }

 private:
  const std::string log_;
  std::string path_;
};

std::string Shown(const std::map<std::string, int>& calls) {
  std::ostringstream out;
  int all = 0;
  for (const auto& [name, count] : calls) {
    out << name << " " << count << ", ";
    all += count;
  }
  out << "together " << all;
  return out.str();
}

void WriteCluster(const TestFolder& folder, const std::string& more) {
  folder.Write("cluster.yaml",
               "name: bench\nhead: {listen: \"127.0.0.1:" + std::to_string(FreePorts(1).front()) +
                   "\"}\npools:\n  gpu:\n    slurm: {partition: gpu}\n    worker: {cpus: 1, gpus: "
                   "0}\n" +
                   more);
}

// From sbatch to the first line of its script.
double StartOfAScript(const SlurmRig& rig) {
  const TestFolder folder;
  const std::string mark = folder / "mark";
  const auto begin = SteadyClock::now();
  rig.Ask("sbatch --output=/dev/null --wrap 'touch " + mark + "'");
  while (!fs::exists(mark)) {
  }
  return SecondsSince(begin);
}

// From typed to the first committed report; nothing is up before, and all nodes are idle.
double FirstReport() {
  const TestFolder folder;
  WriteCluster(folder, "    max: 1\n");
  folder.Write("space.yaml", CurveSweep("    iterations: 3\n    seconds: 0.01\n", "samples: 1\n"));
  const auto begin = SteadyClock::now();
  Program run(folder, "tune", {"run", "space.yaml", "--cluster", "cluster.yaml"});
  while (!fs::exists(folder / "tune.db")) usleep(1000);
  WaitForRows(folder, "SELECT count(*) FROM sqlite_master WHERE name = 'reports'", {"1"});
  WaitForReports(folder, 1);
  const double took = SecondsSince(begin);
  run.Wait();
  return took;
}

void CountCalls(const SlurmRig& rig, int workers) {
  const TestFolder folder;
  Calls calls(folder);
  const std::string count = std::to_string(workers);
  WriteCluster(folder, "    min: " + count + "\n    max: " + count + "\n");
  const auto begin = SteadyClock::now();
  Program up(folder, "tune", {"cluster", "up", "--wait", "60s"});
  const std::string lines = "/usr/bin/squeue --array --noheader --format=%i | wc -l";
  while (std::atoi(rig.Ask(lines).c_str()) < workers) {
  }
  const double asked_after = SecondsSince(begin);
  const std::map<std::string, int> asking = calls.Take();
  up.Wait();
  const std::map<std::string, int> watching = calls.Take();
  const double watched = SecondsSince(begin) - asked_after;
  const auto ending = SteadyClock::now();
  RunTune(folder, {"cluster", "down", "--now"});
  std::printf("| %d workers wanted: until Slurm has them all, %.1f s | %s |\n", workers,
              asked_after, Shown(asking).c_str());
  std::printf("| the %.0f s after it, most pending | %s |\n", watched, Shown(watching).c_str());
  std::printf("| down, %.1f s | %s |\n", SecondsSince(ending), Shown(calls.Take()).c_str());
  EndHead(folder);
}

int Run(int rounds, int workers) {
  if (const std::string why = WhyNoSlurm(); !why.empty()) {
    std::fprintf(stderr, "slurm_bench: skipped: %s\n", why.c_str());
    return 77;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // Programs are forked.
  const SlurmRig rig;
  std::vector<double> scripts, reports, beyond;
  for (int i = 0; i < rounds; ++i) {
    scripts.push_back(StartOfAScript(rig));
    reports.push_back(FirstReport());
    beyond.push_back(reports.back() - scripts.back());
  }
  std::printf("| what | medians of %d |\n|---|---|\n", rounds);
  std::printf("| sbatch to the first line of a script | %.2f s |\n", Median(scripts));
  std::printf("| `tune run --cluster` to the first committed report | %.2f s |\n", Median(reports));
  std::printf("| beyond sbatch's own start | %.2f s (%.2f to %.2f) |\n", Median(beyond),
              *std::min_element(beyond.begin(), beyond.end()),
              *std::max_element(beyond.begin(), beyond.end()));
  CountCalls(rig, workers);
  return 0;
}

}  // namespace
}  // namespace tune::testing

int main(int argc, char** argv) {
  int rounds = 5, workers = 1000;
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (std::strcmp(argv[i], "--toy") == 0) {
      rounds = 1;
      workers = 20;
    } else if (std::strcmp(argv[i], "--rounds") == 0 && has_value) {
      rounds = std::max(1, std::atoi(argv[++i]));
    } else if (std::strcmp(argv[i], "--workers") == 0 && has_value) {
      workers = std::max(1, std::atoi(argv[++i]));
    } else {
      std::fprintf(stderr, "usage: slurm_bench [--rounds N] [--workers N] [--toy]\n");
      return 2;
    }
  }
  return tune::testing::Run(rounds, workers);
}
