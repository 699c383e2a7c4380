// What a line of output stands under: the headings of the lines before it, and the time that they
// say has passed.
//
// Thread rule: one thread an object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trial_runner/line_form.h"

namespace tune {

// A heading of the lines right below it.
struct OutputBlock {
  enum class Kind {
    kPlain,   // Words alone, "RandomForest", which may as well be a remark, "Model loaded".
    kTitled,  // Set off by a frame or a colon: "=== Ablation ===", "Ablation:".
    kNamed,   // Names a part of the data or a summary: "Test results", "=== baseline ===".
  };
  Kind kind = Kind::kPlain;
  std::string name = {};  // In lower case; empty: the line stands under none.
};

struct OutputContext {
  DataSplit heading = {};     // Names a part of the data: "Validation:".
  std::string section = {};   // The same where it names none: "clean set".
  std::string training = {};  // "fold 1".
  OutputBlock block = {};
  std::string time = {};              // "epoch 3", of the last line that said one.
  std::optional<int64_t> epoch = {};  // Of the last heading that began with it: "Epoch 3/10".
};

class OutputHeadings {
 public:
  // A line without a value of the leading metric. `is_heading`: it has no other value either.
  void Follow(std::string_view whole_line, bool is_heading);
  // A value of the leading metric stands below.
  void PassValue() { trainings_since_value_ = 0; }
  const OutputContext& context() const { return context_; }

 private:
  void FollowBlock(std::string_view line);
  void FollowTraining(std::string_view line);

  OutputContext context_;
  int trainings_since_value_ = 0;
};

}  // namespace tune
