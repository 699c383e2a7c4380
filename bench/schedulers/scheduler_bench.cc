// What a scheduler's decision costs, with few and with many trials in a rung.
//
//   scheduler_bench            measures
//   scheduler_bench --toy      a moment: that it runs
//
// A decision is what the controller asks for a trial's first report: the trial is added, reports,
// orders are taken, and its end is told where it was stopped. `trials` have done so before; the
// next ones are timed in batches, and the median batch counts. Values are drawn before the clock
// runs.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/random.h"
#include "schedulers/trial_scheduler.h"

namespace tune {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int64_t kBatch = 50;

struct Subject {
  const char* label;
  const char* spec;
};

constexpr Subject kSubjects[] = {
    {"asha stop", R"({"asha": {}})"},
    {"asha stop, 4 brackets", R"({"asha": {"brackets": 4}})"},
    {"asha promote", R"({"asha": {"variant": "promote"}})"},
    {"asha promote, paused_max 100", R"({"asha": {"variant": "promote", "paused_max": 100}})"},
    {"hyperband sync", R"("hyperband")"},
    {"hyperband async", R"({"hyperband": {"variant": "async"}})"},
    {"pasha", R"("pasha")"},
    {"median_stopping", R"("median_stopping")"},
    {"percentile", R"({"percentile": {"percentile": 50}})"},
    {"threshold + patience",
     R"({"combine": [{"threshold": {"upper": 2}}, {"patience": {"patience": 5}}]})"},
    {"pbt", R"({"pbt": {"perturbation_interval": 1}})"},
};

class Sweep {
 public:
  explicit Sweep(const Subject& subject)
      : scheduler_(*MakeScheduler(*ParseJson(subject.spec), Mode::kMax, 7)) {}

  void Decide(double value) {
    const TrialNumber trial{next_++};
    scheduler_->OnTrialAdded(trial);
    const Decision decision = scheduler_->OnReport(trial, 1, value);
    if (decision.verdict == Verdict::kStop) scheduler_->OnTrialEnded(trial, false);
    order_count_ += scheduler_->TakeOrders().size();
  }
  size_t order_count() const { return order_count_; }

 private:
  std::unique_ptr<TrialScheduler> scheduler_;
  int64_t next_ = 0;
  size_t order_count_ = 0;
};

// Nanoseconds a decision.
double Measure(const Subject& subject, int64_t trials, int64_t batches) {
  KeyedRandom random(7, "bench");
  std::vector<double> values;
  for (int64_t i = 0; i < trials + kBatch; ++i) values.push_back(random.NextDouble());
  // A small sweep is begun anew for each batch, so that it stays small.
  const bool is_small = trials <= 1'000;
  std::vector<double> costs;
  std::unique_ptr<Sweep> sweep;
  for (int64_t i = 0; i < batches; ++i) {
    if (!sweep || is_small) {
      sweep = std::make_unique<Sweep>(subject);
      for (int64_t n = 0; n < trials; ++n) sweep->Decide(values[static_cast<size_t>(n)]);
    }
    double batch[kBatch];
    for (double& value : batch) value = random.NextDouble();
    const SteadyClock::time_point begin = SteadyClock::now();
    for (const double value : batch) sweep->Decide(value);
    const std::chrono::duration<double, std::nano> took = SteadyClock::now() - begin;
    costs.push_back(took.count() / kBatch);
  }
  std::nth_element(costs.begin(), costs.begin() + batches / 2, costs.end());
  return costs[static_cast<size_t>(batches / 2)];
}

void Run(bool is_toy) {
  const std::vector<int64_t> sizes =
      is_toy ? std::vector<int64_t>{100, 1'000} : std::vector<int64_t>{100, 1'000, 10'000, 100'000};
  const int64_t batches = is_toy ? 3 : 1'001;
  std::printf("%-30s %10s %14s %14s %10s\n", "scheduler", "trials", "ns/decision", "decisions/s",
              "of first");
  for (const Subject& subject : kSubjects) {
    double first = 0;
    for (const int64_t trials : sizes) {
      const double cost = Measure(subject, trials, batches);
      if (first == 0) first = cost;
      std::printf("%-30s %10lld %14.0f %14.0f %9.2fx\n", subject.label,
                  static_cast<long long>(trials), cost, 1e9 / cost, cost / first);
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace tune

int main(int argc, char** argv) {
  const bool is_toy = argc == 2 && std::strcmp(argv[1], "--toy") == 0;
  if (argc > 1 && !is_toy) {
    std::fprintf(stderr, "usage: scheduler_bench [--toy]\n");
    return 2;
  }
  tune::Run(is_toy);
  return 0;
}
