// libFuzzer target: any lines said to ask-tell and decide are answered, or refused with the number
// of the line; and any text is an expression or refused with its column.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/check.h"
#include "core/expression.h"
#include "core/json.h"
#include "tests/fuzz/fuzz_target.h"
#include "tuner/ask_tell.h"
#include "tuner/decide.h"

namespace tune {
namespace {

constexpr char kSpace[] = R"({"x": {"uniform": [0, 1]}, "c": {"choice": ["a", 1]}})";
constexpr std::string_view kSchedulers[] = {
    R"({"asha": {"max_t": 9, "reduction_factor": 2, "variant": "promote", "paused_max": 2}})",
    R"({"hyperband": {"max_t": 4, "reduction_factor": 2}})",
    R"({"pbt": {"perturbation_interval": 2}})",
    R"({"combine": [{"pasha": {"max_t": 9, "reduction_factor": 2}}, {"patience": {"patience": 1}},
                    {"threshold": {"upper": 9}}, "median_stopping"]})"};

// Says the lines of a text until one is refused.
template <typename Session>
void Say(Session& session, std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const auto answers = session.OnLine(text.substr(0, end));
    if (!answers.ok()) {
      TUNE_CHECK(answers.status().message().starts_with("line "));
      TUNE_CHECK(answers.status().message().find('\n') == std::string::npos);
      return;
    }
    // A few of each kind are enough, and thousands are slow.
    if (answers->size() > 100) return;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void Converse(std::string_view text) {
  const SearchSpace space = *SearchSpace::Parse(*ParseJson(kSpace));
  for (const char* const search : {R"({"algorithm": "tpe"})", R"({"algorithm": "cmaes"})"}) {
    auto searcher = MakeSearcher(*ParseJson(search), {.space = space, .seed = 1});
    AskTellSession session(*std::move(searcher), {{"y", Mode::kMin}});
    Say(session, text);
  }
  for (const std::string_view scheduler : kSchedulers) {
    auto made = MakeScheduler(*ParseJson(scheduler), Mode::kMin, 1);
    DecideSession session(*std::move(made), {"y"});
    Say(session, text);
  }
}

void ReadExpression(std::string_view text) {
  const Result<Expression> expression = Expression::Parse(std::string(text));
  if (!expression.ok()) {
    TUNE_CHECK(expression.status().message().find("column ") != std::string::npos ||
               text.size() > 4096);
    return;
  }
  std::vector<ExpressionInput> inputs(expression->variables().size());
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i].number = static_cast<double>(i) - 0.5;
  Expression::IsTrue(expression->Evaluate(inputs));
}

}  // namespace
}  // namespace tune

tune::FuzzStart tune::StartOfFuzz() {
  return {{R"({"ask": 3}
{"tell": {"trial": 0, "iteration": 1, "value": 0.5}}
{"tell": {"trial": 0, "value": 0.25}}
{"tell": {"trial": 1, "failed": true}}
{"ask": 1}
)",
           R"({"trial": "a", "training_iteration": 1, "y": 0.5, "loss": 3}
{"trial": 7, "training_iteration": 2, "y": null}
{"trial": "a", "training_iteration": 3, "y": NaN}
{"trial": 7, "event": "completed"}
{"trial": "c", "event": "failed"}
{"trial": 7, "event": "added"}
)",
           "log10(lr) + x^2 * exp(-0.2 * t) >= 3 and not (kind == 'sgd')",
           "min(1, max(a.b, -2)) != sqrt(abs(x)) or floor(x) < 1e-3"},
          6'000};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  tune::Converse(text);
  tune::ReadExpression(text);
  return 0;
}
