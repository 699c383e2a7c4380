// Kills processes of sweeps for as long as it is told to, and says what came of it, as a Markdown
// table. The same runs as tests/e2e/kill_test.cc, more of them. Exits 1 when one found something.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "tests/e2e/kill_runs.h"

namespace tune::testing {
namespace {

struct Options {
  std::string programs = "build/release/bin";
  std::string witness = "build/release/tests/tune_witness_trial";
  std::string set = "fixed";
  std::string only;
  std::string folder;
  int64_t kill_count = 100;
  int64_t first_run = 1;
  uint64_t seed = 1;
  bool is_verbose = false;
};

std::vector<KillSweep> SweepsOf(const std::string& set) {
  if (set == "fixed") return FixedOrderSweeps();
  if (set == "asha4") return AshaAtFourSweeps();
  return ClassifierSweeps();
}

struct Totals {
  KillRun sum;
  int64_t runs = 0;
  int64_t good_runs = 0;

  void Add(const KillRun& run) {
    ++runs;
    good_runs += run.findings.empty() ? 1 : 0;
    sum.tuner_kills += run.tuner_kills;
    sum.worker_kills += run.worker_kills;
    sum.trial_kills += run.trial_kills;
    sum.group_kills += run.group_kills;
    sum.kills_before_stored += run.kills_before_stored;
    sum.lives += run.lives;
    sum.answers += run.answers;
    sum.tuner_end_us.insert(sum.tuner_end_us.end(), run.tuner_end_us.begin(),
                            run.tuner_end_us.end());
    sum.last_end_us.insert(sum.last_end_us.end(), run.last_end_us.begin(), run.last_end_us.end());
  }
};

// "2 / 21": median and most.
std::string Milliseconds(std::vector<int64_t> us) {
  if (us.empty()) return "-";
  std::sort(us.begin(), us.end());
  return std::to_string(us[us.size() / 2] / 1000) + " / " + std::to_string(us.back() / 1000);
}

void Print(const std::string& name, const Totals& totals) {
  std::cout << "| " << name << " | " << totals.good_runs << " of " << totals.runs << " | "
            << totals.sum.kills() << " | " << totals.sum.tuner_kills << " / "
            << totals.sum.worker_kills << " / " << totals.sum.trial_kills << " / "
            << totals.sum.group_kills << " | " << totals.sum.kills_before_stored << " | "
            << totals.sum.answers << " | " << Milliseconds(totals.sum.tuner_end_us) << " | "
            << Milliseconds(totals.sum.last_end_us) << " |" << std::endl;
}

int Main(const Options& options) {
  std::string pattern =
      (std::filesystem::path(options.folder.empty() ? "/tmp" : options.folder) / "tune_kill_XXXXXX")
          .string();
  if (mkdtemp(pattern.data()) == nullptr) {
    std::cerr << "cannot make " << pattern << "\n";
    return 1;
  }
  std::vector<std::unique_ptr<KillRuns>> all;
  std::vector<Totals> totals;
  const bool has_witness = options.set != "classifier";
  for (const KillSweep& sweep : SweepsOf(options.set)) {
    if (!options.only.empty() && sweep.name != options.only) continue;
    const std::string folder = pattern + "/" + sweep.name;
    std::filesystem::create_directories(folder);
    all.push_back(std::make_unique<KillRuns>(
        sweep, options.programs, has_witness ? options.witness : "", folder, options.seed));
    totals.emplace_back();
    for (const std::string& finding : all.back()->findings()) {
      std::cerr << sweep.name << ", left alone: " << finding << "\n";
      return 1;
    }
  }
  bool is_good = true;
  int64_t kill_count = 0;
  for (int64_t number = options.first_run; kill_count < options.kill_count && !all.empty();
       ++number) {
    for (size_t i = 0; i < all.size(); ++i) {
      const KillRun run = all[i]->Run(number);
      totals[i].Add(run);
      kill_count += run.kills();
      if (options.is_verbose || !run.findings.empty()) {
        std::cerr << all[i]->name() << ", seed " << options.seed << ", run " << number << ":\n"
                  << run.story;
      }
      for (const std::string& finding : run.findings) std::cerr << "  FOUND: " << finding << "\n";
      is_good = is_good && run.findings.empty();
    }
  }
  std::cout
      << "| sweep | runs as promised | kills | tuner / worker / trial / all | before anything"
         " was stored | answers witnessed, none lost | tuner ended after, ms (median / most) | the"
         " others after it, ms |\n"
         "|---|---|---|---|---|---|---|---|\n";
  for (size_t i = 0; i < all.size(); ++i) Print(all[i]->name(), totals[i]);
  if (is_good) std::filesystem::remove_all(pattern);
  return is_good ? 0 : 1;
}

}  // namespace
}  // namespace tune::testing

int main(int argc, char** argv) {
  tune::testing::Options options;
  CLI::App app("Kills processes of sweeps and resumes them; the answer must stay the same.");
  app.footer("Example:\n  kill_bench --set fixed --kills 300 --seed 7");
  app.add_option("--programs", options.programs, "The folder with tune and its programs");
  app.add_option("--witness", options.witness, "The trial program that writes its answers down");
  app.add_option("--set", options.set, "Which sweeps")
      ->check(CLI::IsMember({"fixed", "asha4", "classifier"}));
  app.add_option("--only", options.only, "One sweep of the set, by name");
  app.add_option("--folder", options.folder, "Where its files lie (default: /tmp)");
  app.add_option("--kills", options.kill_count, "At least so many");
  app.add_option("--first", options.first_run, "Number of the first run, to try one again");
  app.add_option("--seed", options.seed, "Of victims and moments");
  app.add_flag("--verbose", options.is_verbose, "Tells each run");
  CLI11_PARSE(app, argc, argv);
  return tune::testing::Main(options);
}
