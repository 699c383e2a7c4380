#include "tuner/cli/head/queue_command.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/counted.h"
#include "core/json.h"
#include "core/resource_text.h"
#include "core/resources.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/words/complain.h"
#include "tuner/control/control_client.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {
namespace {

constexpr Duration kQueuePatience = Milliseconds(10'000);

Result<ControlAnswer> Ask(const std::string& db_path, const Clock& clock) {
  const std::optional<LockHolder> holder = FindLockHolder(db_path);
  if (!holder || !holder->is_head) {
    return Unavailable("no head holds " + db_path + "; tune status shows a sweep that runs alone");
  }
  ControlRequest request;
  request.verb = ControlVerb::kQueue;
  request.tuner = holder->pid;
  request.sweep = "all";
  TUNE_ASSIGN_OR_RETURN(ControlAnswer answer,
                        AskTuner(ArtifactsDirOf(db_path), request, clock, kQueuePatience));
  TUNE_RETURN_IF_ERROR(answer.status);
  return answer;
}

// "8 CPUs, 1 GPU"; nothing where nothing is held free.
Value ReserveText(const Value& line) {
  const Value* const reserve = line.Find("reserve");
  if (reserve == nullptr || !reserve->is_map()) return Value();
  std::string text;
  const auto add = [&](const char* key, const char* what) {
    const Value* const count = reserve->Find(key);
    if (count == nullptr || !count->is_number() || count->AsDouble() == 0) return;
    const int64_t milli = std::llround(count->AsDouble() * kWholeMilli);
    text += (text.empty() ? "" : ", ") + DescribeShare(milli) + " " + what +
            (milli == kWholeMilli ? "" : "s");
  };
  add("cpus", "CPU");
  add("gpus", "GPU");
  return text;
}

Value At(const Value& line, const char* key) {
  const Value* const value = line.Find(key);
  return value == nullptr ? Value() : *value;
}

// "12s"; nothing where it does not wait.
Value WaitedFor(const Value& line) {
  const Value us = At(line, "waits_us");
  if (!us.is_int()) return Value();
  return FormatDuration(Seconds(static_cast<double>(us.AsInt() / 1'000'000)));
}

}  // namespace

int QueueCommand(const QueueOptions& options, const Clock& clock, std::ostream& out,
                 std::ostream& err) {
  const Result<ControlAnswer> answer = Ask(options.db_path, clock);
  if (!answer.ok()) return Complain(answer.status(), err);
  RowPrinter printer(options.format, options.width, out);
  const bool is_for_person = options.format == OutputFormat::kTable;
  printer.Begin({"turn", "sweep", "owner", "priority", "weight", "reserve", "running", "cpus",
                 "gpus", is_for_person ? "waits" : "waits_us", "why"});
  for (const std::string& text : answer->lines) {
    const Result<Value> line = ParseJson(text);
    if (!line.ok() || !line->is_map()) continue;
    printer.Row({At(*line, "turn"), At(*line, "sweep"), At(*line, "owner"), At(*line, "priority"),
                 At(*line, "weight"), is_for_person ? ReserveText(*line) : At(*line, "reserve"),
                 At(*line, "running"), At(*line, "cpus"), At(*line, "gpus"),
                 is_for_person ? WaitedFor(*line) : At(*line, "waits_us"), At(*line, "why")});
  }
  printer.End();
  if (answer->left_out > 0) {
    err << "warning: " << Counted(answer->left_out, "more sweep")
        << (answer->left_out == 1 ? " is" : " are")
        << " not shown: one answer of the head has no room for them; tune list shows all\n";
  }
  return 0;
}

}  // namespace tune
