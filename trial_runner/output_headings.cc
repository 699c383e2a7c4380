#include "trial_runner/output_headings.h"

#include <utility>

#include "trial_runner/line_counters.h"

namespace tune {
namespace {

bool BeginsWithEpoch(std::string_view line) {
  const size_t begin = line.find_first_not_of(" \t-=#*[<");
  if (begin == std::string_view::npos) return false;
  const std::string_view text = line.substr(begin);
  constexpr std::string_view kWord = "epoch";
  for (size_t i = 0; i < kWord.size(); ++i) {
    if (i >= text.size() || (text[i] | 0x20) != kWord[i]) return false;
  }
  return true;
}

}  // namespace

void OutputHeadings::Follow(std::string_view whole_line, bool is_heading) {
  constexpr size_t kHeadingBytesMax = 200;
  const std::string_view line = whole_line.substr(0, kHeadingBytesMax);
  std::string time = FindTimeWord(line);
  const bool counts_time = !time.empty();
  if (counts_time) context_.time = std::move(time);
  if (!is_heading) return;
  const bool is_indented = line.empty() || line[0] == ' ' || line[0] == '\t';
  const std::optional<int64_t> epoch = counts_time ? FindEpoch(line).epoch : std::nullopt;
  if (epoch && BeginsWithEpoch(line)) context_.epoch = epoch;
  const bool may_be_one = line.size() == whole_line.size();
  // It holds until a line that begins as far left and is none; one that names no part of the data
  // until the next one, or the next epoch.
  std::string section = may_be_one ? FindSection(line) : "";
  if (!section.empty() || epoch) context_.section = std::move(section);
  const DataSplit found = may_be_one ? FindHeading(line) : DataSplit();
  if (!found.name.empty() || !is_indented) context_.heading = {found.name, found.name};
  if (counts_time) context_.block = {};
  if (!may_be_one) return;
  FollowTraining(line);
  if (!counts_time) FollowBlock(line);
}

// Of several between two values none is the second one's: a list of clients, or of devices.
void OutputHeadings::FollowTraining(std::string_view line) {
  std::string training = FindTraining(line);
  if (training.empty() || training == context_.training) return;
  const bool is_only_one = ++trainings_since_value_ == 1;
  context_.training = is_only_one ? std::move(training) : "";
}

void OutputHeadings::FollowBlock(std::string_view line) {
  switch (const BlockLine found = FindBlock(line); found.kind) {
    case BlockLine::Kind::kHeading:
      context_.block = {found.is_named    ? OutputBlock::Kind::kNamed
                        : found.is_titled ? OutputBlock::Kind::kTitled
                                          : OutputBlock::Kind::kPlain,
                        found.name};
      return;
    case BlockLine::Kind::kProse:
      if (context_.block.kind != OutputBlock::Kind::kNamed) context_.block = {};
      return;
    case BlockLine::Kind::kValues:
      return;
  }
}

}  // namespace tune
