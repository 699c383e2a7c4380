#include "bench/multi_fidelity/leader.h"

#include <array>
#include <string_view>

#include "core/check.h"
#include "core/input_error.h"
#include "core/json.h"

namespace tune {
namespace {

struct KnownBest {
  const char* name;
  const char* configuration;  // JSON.
};

constexpr std::array<KnownBest, 5> kBest = {{
    {"plain", R"({"lr": 0.002511886431509580, "weight_decay": 1e-4, "dropout": 0.25,
                  "label_smoothing": 0.08})"},
    {"rates", R"({"lr": 0.001584893192461113, "weight_decay": 3.162277660168379e-5,
                  "dropout": 0.3, "lr_decay": 0.95, "batch_size": 128})"},
    {"sizes", R"({"width": 256, "depth": 4, "lr": 0.002089296130854040, "dropout": 0.3})"},
    {"choices", R"({"optimizer": "sgd", "activation": "relu", "lr": 0.03981071705534972,
                    "weight_decay": 1e-4, "batch_size": 64, "augmentation": 0.4})"},
    {"noisy", R"({"x0": 0.3, "x1": 0.7, "x2": 0.55, "x3": 0.2, "x4": 0.85, "x5": 0.45})"},
}};

double ValueAt(const Curve& curve, const Value& configuration, int64_t iteration) {
  const Result<BoundCurve> bound = curve.Bind(configuration);
  TUNE_CHECK(bound.ok());
  return bound->Step(0, 0, 0, iteration).values.front();
}

}  // namespace

std::vector<std::string> Landscape::Names() {
  std::vector<std::string> names;
  for (const KnownBest& best : kBest) names.emplace_back(best.name);
  return names;
}

Result<Landscape> Landscape::Make(const std::string& name, const Value& formula) {
  Value quiet = formula;
  quiet.Set("noise", Value(0.0));
  TUNE_ASSIGN_OR_RETURN(Curve curve, Curve::Parse(quiet));
  for (const KnownBest& best : kBest) {
    if (best.name != name) continue;
    TUNE_ASSIGN_OR_RETURN(const Value configuration, ParseJson(best.configuration));
    TUNE_ASSIGN_OR_RETURN(const BoundCurve bound, curve.Bind(configuration));
    const double value = bound.Step(0, 0, 0, bound.iterations()).values.front();
    return Landscape(std::move(curve), value);
  }
  return InvalidArgument("no best configuration is known of the landscape '" + name + "'");
}

double Landscape::GapOf(const Configuration& configuration, int64_t iteration) const {
  const double gap = 1 - ValueAt(curve_, configuration.ToNested(), iteration) / best_;
  TUNE_CHECK(gap > -1e-4);  // Else it was not the best that is written above.
  return gap;
}

void Leader::OnReport(const Configuration& configuration, int64_t iteration, double observed) {
  if (observed <= best_observed_) return;
  best_observed_ = observed;
  has_arrived_ |= landscape_.GapOf(configuration, iteration) <= near_;
}

std::optional<Configuration> FollowedSearcher::Suggest(TrialNumber number) {
  if (leader_->has_arrived()) return std::nullopt;
  std::optional<Configuration> configuration = searcher_->Suggest(number);
  if (configuration) configurations_.insert_or_assign(number, *configuration);
  return configuration;
}

void FollowedSearcher::Restore(TrialNumber number, const Configuration& configuration) {
  searcher_->Restore(number, configuration);
  configurations_.insert_or_assign(number, configuration);
}

void FollowedSearcher::OnReport(TrialNumber number, int64_t iteration, Objectives values) {
  searcher_->OnReport(number, iteration, values);
  const Metric& observed = values.front();
  if (observed) leader_->OnReport(configurations_.at(number), iteration, *observed);
}

void FollowedSearcher::OnTrialEnded(TrialNumber number, Objectives last, bool failed) {
  searcher_->OnTrialEnded(number, last, failed);
}

}  // namespace tune
