// How long does a searcher take for one suggestion, with so many trials behind it?
//
//   search_cost [--trials 100,1000,10000] [--floats 8] [--search '{"algorithm": "tpe"}']...
//   search_cost --toy                  a second at most: that it runs
//
// A searcher is given a history of random configurations, each with a value, and is then asked 21
// times; each suggestion is told a value before the next. Five times, with other seeds. Times are
// processor time of Suggest alone, which waits for nothing, so that other work on the machine
// counts little. Told: what a report and an end cost, together. The last line is random search
// asked and told, as many times a second as it goes.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/random.h"
#include "search/searcher.h"

namespace tune {
namespace {

double ProcessorMs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

struct Plan {
  std::vector<int64_t> trials = {100, 1000, 10'000};
  int64_t floats = 8;
  int64_t asked = 21;
  uint64_t seeds = 5;
  std::vector<std::string> searches;
};

SearchSpace SpaceOf(int64_t floats) {
  std::string json = "{";
  for (int64_t i = 0; i < floats; ++i) {
    json += (i == 0 ? "" : ", ") + ("\"x" + std::to_string(i)) + R"(": {"uniform": [0, 1]})";
  }
  return *SearchSpace::Parse(*ParseJson(json + "}"));
}

std::unique_ptr<Searcher> Make(const std::string& search, const SearchSpace& space, uint64_t seed) {
  const Result<Value> options = ParseJson(search);
  auto made = options.ok()
                  ? MakeSearcher(*options, {.space = space, .modes = {Mode::kMin}, .seed = seed})
                  : options.status();
  if (made.ok()) return *std::move(made);
  std::fprintf(stderr, "search_cost: %s\n", made.status().message().c_str());
  std::exit(2);
}

// A bowl with its bottom at 0.3 everywhere.
double ValueOf(const Configuration& configuration) {
  double sum = 0;
  for (const auto& [name, value] : configuration.parameters()) {
    sum += (value.AsDouble() - 0.3) * (value.AsDouble() - 0.3);
  }
  return sum;
}

void Tell(Searcher& searcher, int64_t number, const Configuration& configuration) {
  const Metric value = ValueOf(configuration);
  searcher.OnReport(TrialNumber{number}, 1, {&value, 1});
  searcher.OnTrialEnded(TrialNumber{number}, {&value, 1}, false);
}

double Quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1))];
}

struct Times {
  std::vector<double> suggest_ms;
  std::vector<double> told_ms;
};

void MeasureOne(const Plan& plan, const std::string& search, int64_t past, uint64_t seed,
                Times& times) {
  const SearchSpace space = SpaceOf(plan.floats);
  const auto random = Make(R"({"algorithm": "random"})", space, seed);
  const auto searcher = Make(search, space, seed);
  for (int64_t n = 0; n < past; ++n) {
    const auto configuration = random->Suggest(TrialNumber{n});
    searcher->Restore(TrialNumber{n}, *configuration);
    Tell(*searcher, n, *configuration);
  }
  for (int64_t n = past; n < past + plan.asked; ++n) {
    const double asked_at = ProcessorMs();
    const auto configuration = searcher->Suggest(TrialNumber{n});
    times.suggest_ms.push_back(ProcessorMs() - asked_at);
    const double told_at = ProcessorMs();
    Tell(*searcher, n, *configuration);
    times.told_ms.push_back(ProcessorMs() - told_at);
  }
}

void Measure(const Plan& plan, const std::string& search, int64_t past) {
  Times times;
  for (uint64_t seed = 1; seed <= plan.seeds; ++seed) MeasureOne(plan, search, past, seed, times);
  std::printf("| %s | %lld | %.3f | %.3f | %.4f |\n", search.c_str(), static_cast<long long>(past),
              Quantile(times.suggest_ms, 0.5), Quantile(times.suggest_ms, 0.99),
              Quantile(times.told_ms, 0.5));
}

double RandomRate(const Plan& plan, int64_t count) {
  const auto searcher = Make(R"({"algorithm": "random"})", SpaceOf(plan.floats), 1);
  const double start = ProcessorMs();
  for (int64_t n = 0; n < count; ++n) Tell(*searcher, n, *searcher->Suggest(TrialNumber{n}));
  return 1e3 * static_cast<double>(count) / (ProcessorMs() - start);
}

std::vector<int64_t> ReadList(std::string_view text) {
  std::vector<int64_t> numbers;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    numbers.push_back(std::atoll(std::string(text.substr(at, end - at)).c_str()));
    at = end + 1;
  }
  return numbers;
}

Plan ReadArguments(int argc, char** argv) {
  Plan plan;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--toy") {
      plan.trials = {20};
      plan.asked = 3;
      plan.seeds = 1;
    } else if (i + 1 < argc && name == "--trials") {
      plan.trials = ReadList(argv[++i]);
    } else if (i + 1 < argc && name == "--floats") {
      plan.floats = std::atoll(argv[++i]);
    } else if (i + 1 < argc && name == "--search") {
      plan.searches.emplace_back(argv[++i]);
    } else {
      std::fprintf(stderr, "search_cost: what is '%s'? See the head of search_cost.cc\n", argv[i]);
      std::exit(2);
    }
  }
  if (plan.searches.empty()) {
    plan.searches = {R"({"algorithm": "tpe"})", R"({"algorithm": "tpe", "multivariate": false})",
                     R"({"algorithm": "bohb"})"};
  }
  return plan;
}

}  // namespace
}  // namespace tune

int main(int argc, char** argv) {
  const tune::Plan plan = tune::ReadArguments(argc, argv);
  std::printf("| search | past trials | suggest, median ms | 99 %% | told, median ms |\n");
  std::printf("|---|---|---|---|---|\n");
  for (const std::string& search : plan.searches) {
    for (const int64_t past : plan.trials) tune::Measure(plan, search, past);
  }
  const int64_t count = plan.asked > 10 ? 200'000 : 1000;
  std::printf("\nrandom, asked and told: %.0f trials/s\n", tune::RandomRate(plan, count));
  return 0;
}
