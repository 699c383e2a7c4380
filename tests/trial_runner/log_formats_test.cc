// The logs of ordinary training scripts (tests/golden/logs): each with the expressions that
// docs/COMMAND.md gives for its format, and the reports that a person reads in it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "trial_runner/command_spec.h"
#include "trial_runner/output_metrics.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

std::string ReadAll(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::vector<std::string> LogNames() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(TUNE_LOGS_DIR)) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// "iteration 3: acc 0.5, loss nan", the metrics by name.
std::string Shown(std::optional<int64_t> iteration, Metrics metrics) {
  std::sort(metrics.begin(), metrics.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text = iteration ? "iteration " + std::to_string(*iteration) + ":" : "next:";
  for (const auto& [name, value] : metrics) {
    text +=
        " " + name + " " + (std::isfinite(value) ? ToJson(Value(value)) : std::to_string(value));
  }
  return text;
}

std::string ShownRow(const Value& row) {
  std::optional<int64_t> iteration;
  Metrics metrics;
  for (const MapEntry& entry : row.AsMap()) {
    if (entry.key == "iteration") {
      iteration = entry.value.AsInt();
    } else if (entry.value.is_string()) {
      metrics.emplace_back(entry.key, entry.value == Value("inf") ? HUGE_VAL : std::nan(""));
    } else {
      metrics.emplace_back(entry.key, entry.value.AsDouble());
    }
  }
  return Shown(iteration, metrics);
}

class LogFormats : public testing::TestWithParam<std::string> {
 protected:
  LogFormats() {
    Result<Value> document = ParseYaml(ReadAll(fs::path(TUNE_LOGS_DIR) / (GetParam() + ".yaml")));
    EXPECT_TRUE(document.ok()) << document.status().message();
    log_ = *std::move(document);
    Result<CommandSpec> spec = CommandSpec::Parse(*log_.Find("trainable"));
    EXPECT_TRUE(spec.ok()) << spec.status().message();
    spec_ = *std::move(spec);
    const Value& metric = *log_.Find("metric");
    for (const Value& name : metric.is_list() ? metric.AsList() : Value::List{metric}) {
      wanted_.push_back(name.AsString());
    }
  }

  std::string Text(const char* stream) const {
    const Value* const text = log_.Find(stream);
    return text == nullptr ? "" : text->AsString();
  }
  // Read in pieces of this size.
  std::vector<std::string> Reports(OutputMetrics& metrics, size_t piece) const {
    std::vector<std::string> shown;
    const auto take = [&](const std::vector<OutputReport>& reports) {
      for (const OutputReport& report : reports) {
        shown.push_back(Shown(report.iteration, report.metrics));
        if (!report.note.empty()) notes_.push_back(report.note);
      }
    };
    for (const auto& [stream, name] :
         {std::pair(OutputStream::kStdout, "stdout"), {OutputStream::kStderr, "stderr"}}) {
      const std::string text = Text(name);
      for (size_t i = 0; i < text.size(); i += piece)
        take(metrics.Read(stream, text.substr(i, piece)));
    }
    take(metrics.Finish());
    return shown;
  }

  Value log_;
  CommandSpec spec_;
  std::vector<std::string> wanted_;
  mutable std::vector<std::string> notes_;
};

TEST_P(LogFormats, EachIterationIsReadWithItsValues) {
  std::vector<std::string> expected;
  for (const Value& row : log_.Find("reports")->AsList()) expected.push_back(ShownRow(row));
  for (const size_t piece : {1'000'000u, 7u, 1u}) {
    OutputMetrics metrics(spec_.output_rules(), wanted_);
    EXPECT_EQ(Reports(metrics, piece), expected) << "in pieces of " << piece;
    const Value* const final = log_.Find("final");
    const Metrics last = metrics.Unreported({});
    EXPECT_EQ(last.empty() ? "" : Shown(std::nullopt, last),
              final == nullptr ? "" : ShownRow(*final));
    const Value* const refusal = log_.Find("refusal");
    EXPECT_THAT(metrics.refusal().value_or(""), refusal == nullptr
                                                    ? testing::HasSubstr("")
                                                    : testing::HasSubstr(refusal->AsString()));
    EXPECT_EQ(metrics.refusal().has_value(), refusal != nullptr) << metrics.refusal().value_or("");
  }
  // Told once each time where a person should look, and never cried otherwise.
  const Value* const note = log_.Find("note");
  if (note == nullptr) {
    EXPECT_THAT(notes_, testing::IsEmpty());
  } else {
    EXPECT_THAT(notes_, testing::AllOf(testing::SizeIs(3),
                                       testing::Each(testing::HasSubstr(note->AsString()))));
  }
}

// The documentation's table has each format's expressions, as they stand in its log's file.
TEST_P(LogFormats, ItsExpressionsAreDocumented) {
  if (log_.Find("refusal") != nullptr || log_.Find("note") != nullptr) return;
  const std::string docs = ReadAll(TUNE_COMMAND_DOCS);
  const Value* const wanted =
      log_.Find("trainable")
          ->Find("metrics")
          ->Find(spec_.output_rules().report_on.empty() ? wanted_.front()
                                                        : spec_.output_rules().report_on);
  std::vector<const Value*> sources = {wanted};
  if (const Value* const iteration = log_.Find("trainable")->Find("iteration")) {
    sources.push_back(iteration);
  }
  for (const Value* const source : sources) {
    std::string regex = source->Find("regex")->AsString();
    for (size_t i = 0; (i = regex.find('|', i)) != std::string::npos; i += 2) regex.insert(i, "\\");
    EXPECT_NE(docs.find("`" + regex + "`"), std::string::npos) << regex << " is not in the table";
  }
}

TEST(LogFormatsCorpus, HasFortyLogsThatAreReadRightWithoutAWord) {
  int read_right = 0;
  for (const std::string& name : LogNames()) {
    const Result<Value> log = ParseYaml(ReadAll(fs::path(TUNE_LOGS_DIR) / (name + ".yaml")));
    ASSERT_TRUE(log.ok()) << name;
    read_right += log->Find("refusal") == nullptr && log->Find("note") == nullptr ? 1 : 0;
  }
  EXPECT_GE(read_right, 40);
}

INSTANTIATE_TEST_SUITE_P(All, LogFormats, testing::ValuesIn(LogNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tune
