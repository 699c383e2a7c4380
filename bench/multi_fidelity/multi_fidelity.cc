// How soon does a sweep have a configuration that is nearly the best? Landscapes of learning curves
// (landscapes/*.yaml), run by the production controller in virtual time (tuner/simulate), until the
// trial that leads is truly within 1 % of the best there is, or time is up.
//
//   multi_fidelity FOLDER --contender random --contender bohb='{"algorithm": "bohb"}'
//                  [--scheduler '{"hyperband": {"max_t": 81}}'] [--landscape NAME]...
//                  [--first-seed 0] [--seeds 20] [--workers 8] [--hours 100]
//
// FOLDER: where the landscapes are. Prints CSV, a row each time that the lead changes:
// landscape,searcher,seed,minutes,epochs,trials,gap. gap: how far the leader (the best observation)
// is below the best, without noise, as a share of it.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/contender.h"
#include "bench/multi_fidelity/leader.h"
#include "core/limits.h"
#include "schedulers/trial_scheduler.h"
#include "search/searcher.h"
#include "tuner/experiment_controller.h"
#include "tuner/search_problem.h"
#include "tuner/simulate/formula_curves.h"
#include "tuner/simulate/virtual_sweep.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

constexpr double kNear = 0.01;

struct Plan {
  std::string folder;
  std::vector<Contender> contenders;
  std::vector<std::string> landscapes;
  uint64_t first_seed = 0;
  uint64_t seeds = 20;
  int64_t workers = 8;
  double hours = 100;
  Value scheduler;  // Null: the landscape's own.
};

ExperimentSpec SpecOf(const Plan& plan, const std::string& landscape, const Contender& contender) {
  const std::string path = plan.folder + "/" + landscape + ".yaml";
  ExperimentSpec spec = OrRefuse(ReadSpecFile(path, {}), path);
  spec.search = contender.search;
  if (!plan.scheduler.is_null()) spec.scheduler = plan.scheduler;
  spec.samples = limits::kSamplesMax;
  spec.limits.sweep_time = Seconds(plan.hours * 3600);
  return spec;
}

void RunOne(const Plan& plan, const std::string& landscape, const Contender& contender,
            uint64_t seed) {
  const ExperimentSpec spec = SpecOf(plan, landscape, contender);
  SearchSpace space = OrRefuse(SearchSpace::Parse(spec.space), landscape);
  const Value& formula = *spec.trainable.Find("curve");
  const Landscape truth = OrRefuse(Landscape::Make(landscape, formula), landscape);
  auto searcher = OrRefuse(MakeSearcher(spec.search, ProblemOf(spec, space, spec.samples, seed)),
                           contender.name);
  const auto leader = std::make_shared<Leader>(truth, kNear);
  auto scheduler = OrRefuse(MakeScheduler(spec.scheduler, spec.mode, seed), landscape);
  const auto curves = OrRefuse(FormulaCurves::Make(formula, spec.metric, seed), landscape);
  ControllerOptions options{spec, seed, std::move(space), spec.name, "/virtual"};
  ExperimentController controller(std::move(options),
                                  std::make_unique<FollowedSearcher>(std::move(searcher), leader),
                                  std::move(scheduler));
  VirtualWorkers workers{plan.workers, {}};
  workers.capacity.cpu_milli = 1000;
  VirtualSweep sweep(controller, *curves, workers);
  const VirtualOutcome outcome = OrRefuse(sweep.Run(), landscape);

  const auto print = [&](double seconds, int64_t epochs, size_t trials, double gap) {
    std::printf("%s,%s,%llu,%.3f,%lld,%zu,%.6g\n", landscape.c_str(), contender.name.c_str(),
                static_cast<unsigned long long>(seed), seconds / 60, static_cast<long long>(epochs),
                trials, gap);
  };
  double gap = 1;
  for (const Improvement& improvement : outcome.improvements) {
    const Configuration& configuration =
        controller.trials()[static_cast<size_t>(improvement.trial.value)].configuration;
    gap = truth.GapOf(configuration, improvement.iteration);
    print(improvement.at.seconds(), improvement.epochs,
          static_cast<size_t>(improvement.trial.value) + 1, gap);
    if (gap <= kNear) break;
  }
  // Where it did not get there, how long it tried.
  if (gap > kNear) {
    print(outcome.duration.seconds(), outcome.epochs, controller.trials().size(), gap);
  }
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  CLI::App app("Time to a configuration within 1 % of the best, on learning curves by formula");
  Plan plan;
  std::vector<std::string> contenders;
  std::string scheduler;
  app.add_option("folder", plan.folder, "of landscapes")->required();
  app.add_option("--contender", contenders, "an algorithm, or NAME={...}")->required();
  app.add_option("--scheduler", scheduler, "JSON; default: the landscape's own");
  app.add_option("--landscape", plan.landscapes, "default: all");
  app.add_option("--first-seed", plan.first_seed, "");
  app.add_option("--seeds", plan.seeds, "how many");
  app.add_option("--workers", plan.workers, "");
  app.add_option("--hours", plan.hours, "of virtual time");
  CLI11_PARSE(app, argc, argv);

  for (const std::string& text : contenders) plan.contenders.push_back(ContenderOf(text));
  if (!scheduler.empty()) plan.scheduler = OrRefuse(ParseJson(scheduler), "--scheduler");
  if (plan.landscapes.empty()) plan.landscapes = Landscape::Names();
  std::printf("landscape,searcher,seed,minutes,epochs,trials,gap\n");
  for (const std::string& landscape : plan.landscapes) {
    for (const Contender& contender : plan.contenders) {
      for (uint64_t seed = plan.first_seed; seed < plan.first_seed + plan.seeds; ++seed) {
        RunOne(plan, landscape, contender, seed);
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace tune

int main(int argc, char** argv) { return tune::Main(argc, argv); }
