// libFuzzer target: a text of three JSON lines (space, constraints, points) is refused with a
// place, or it is a space that every search can draw from.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/check.h"
#include "core/json.h"
#include "search/perturb.h"
#include "search/points.h"
#include "search/satisfiable.h"
#include "search/searcher.h"
#include "tests/fuzz/fuzz_target.h"

namespace tune {
namespace {

constexpr std::string_view kAlgorithms[] = {"random", "sobol", "tpe", "gp", "cmaes", "nsga2"};

// The next line, which is taken away; "" for none.
std::string_view TakeLine(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

void CheckError(const Status& status) {
  TUNE_CHECK(status.message().find('\n') == std::string::npos);
}

void CheckOfSpace(const Configuration& configuration, const SearchSpace& space) {
  TUNE_CHECK(space.Allows(configuration));
  for (size_t i = 0; i < space.parameters().size(); ++i) {
    const SpaceParameter& parameter = space.parameters()[i];
    const Value* const value = configuration.Find(parameter.name);
    TUNE_CHECK(space.IsActive(i, configuration) == (value != nullptr));
    const auto* const domain = std::get_if<Domain>(&parameter.content);
    if (value == nullptr || domain == nullptr) continue;
    TUNE_CHECK(domain->OwnValue(*value) == *value);
    const auto cell = domain->ToUnit(*value);
    TUNE_CHECK(cell && cell->lo >= 0 && cell->lo <= cell->hi && cell->hi <= 1);
  }
}

void Search(std::string_view algorithm, const SearchSpace& space,
            const std::vector<Configuration>& points) {
  Value search = Value::MakeMap();
  search.Set("algorithm", Value(algorithm));
  const auto made =
      MakeSearcher(search, {.space = space, .samples = 16, .seed = 1, .points = points});
  if (!made.ok()) return CheckError(made.status());
  for (int64_t n = 0; n < 16; ++n) {
    const auto configuration = (*made)->Suggest(TrialNumber{n});
    if (!configuration) break;
    CheckOfSpace(*configuration, space);
    const Metric value = static_cast<double>(n * 7 % 5);
    (*made)->OnTrialEnded(TrialNumber{n}, {&value, 1}, n % 6 == 5);
    KeyedRandom random(1, "fuzz", static_cast<uint64_t>(n));
    CheckOfSpace(Perturb(space, *configuration, {}, random), space);
  }
}

void Read(std::string_view text) {
  const Result<Value> tree = ParseJson(TakeLine(text));
  if (!tree.ok()) return;
  const Result<Value> constraints = ParseJson(TakeLine(text));
  const Result<Value> points = ParseJson(TakeLine(text));
  const auto space = SearchSpace::Parse(*tree, constraints.ok() ? *constraints : Value());
  if (!space.ok()) return CheckError(space.status());
  // What is large is slow, and no other code.
  if (space->parameters().size() > 8) return;
  if (const Status status = CheckSatisfiable(*space); !status.ok()) return CheckError(status);
  const auto first = ReadPoints(points.ok() ? *points : Value(), *space);
  if (!first.ok()) return CheckError(first.status());
  for (const std::string_view algorithm : kAlgorithms) Search(algorithm, *space, *first);
}

}  // namespace
}  // namespace tune

tune::FuzzStart tune::StartOfFuzz() {
  return {
      {R"({"x":{"uniform":[0,1]},"n":{"randint":[0,9]},"c":{"choice":["a",1,true]}}
["x + n <= 9"]
[{"x":0.5,"n":3,"c":"a"},{"x":0.25}])",
       R"({"lr":{"loguniform":[1e-4,1]},"k":{"choice":["a","b"]},"m":{"uniform":[0,1],"when":{"k":"a"}}})",
       R"({"k":{"choice":["sgd","adam"]},"sgd":{"when":{"k":"sgd"},"m":{"qrandn":[0,1,0.5]}}}
["k == 'adam' or sgd.m < 1"])",
       R"({"x":{"uniform":[0,1],"guess":0.5},"n":{"randint":[0,9],"guess":3},"c":{"choice":["a",1],"guess":"a"}}
["x + n <= 9"])",
       R"({"o":{"ordinal":[1,2,4,8]},"l":{"lograndint":[1,65]},"q":{"quniform":[0,0.8,0.2]},"f":3}
null
[{"o":4,"l":8,"q":0.4}])",
       R"({"g":{"grid_search":[1,2]},"n":{"randn":[0,1]},"u":{"qloguniform":[2,8,2]}})"},
      300};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tune::Read({reinterpret_cast<const char*>(data), size});
  return 0;
}
