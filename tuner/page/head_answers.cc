#include "tuner/page/head_answers.h"

#include <optional>
#include <utility>

#include "tuner/cli/look/living_state.h"
#include "tuner/control/control_request.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {
namespace {

ControlAnswer AskHead(const std::string& db_path, ControlVerb verb, const Clock& clock) {
  if (!HasHead(db_path)) return {Unavailable("no head holds the database"), {}};
  ControlRequest request;
  request.verb = verb;
  request.sweep = "all";
  const auto answer = AskLivingTuner(db_path, request, clock, kActionPatience);
  return answer.ok() ? *answer : ControlAnswer{answer.status(), {}};
}

HttpAnswer Told(bool is_told, const std::string& name, const std::string& json) {
  HttpAnswer answer;
  answer.content_type = "application/json";
  answer.body = std::string("{\"is_told\":") + (is_told ? "true" : "false") + ",\"" + name +
                "\":" + json + "}";
  answer.headers = {{"Cache-Control", "no-store"}};
  return answer;
}

}  // namespace

bool HasHead(const std::string& db_path) {
  const std::optional<LockHolder> holder = FindLockHolder(db_path);
  return holder && holder->is_head;
}

// Without a head nothing waits for a turn.
HttpAnswer AnswerQueue(const std::string& db_path, const Clock& clock) {
  const ControlAnswer told = AskHead(db_path, ControlVerb::kQueue, clock);
  std::string lines;
  for (const std::string& line : told.lines) lines += (lines.empty() ? "" : ",") + line;
  const std::string left_out =
      told.left_out > 0 ? ",\"left_out\":" + std::to_string(told.left_out) : "";
  return Told(told.status.ok(), "queue", "[" + lines + "]" + left_out);
}

HttpAnswer AnswerCluster(const std::string& db_path, const Clock& clock) {
  const ControlAnswer told = AskHead(db_path, ControlVerb::kCluster, clock);
  const bool is_told = told.status.ok() || told.status.code() == StatusCode::kFailedPrecondition;
  const bool has_one = told.status.ok() && !told.lines.empty();
  return Told(is_told, "cluster", has_one ? told.lines.front() : "null");
}

}  // namespace tune
