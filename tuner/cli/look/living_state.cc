#include "tuner/cli/look/living_state.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/counted.h"
#include "core/json.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/words/text_table.h"
#include "tuner/control/control_client.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {
namespace {

constexpr Duration kPatience = Milliseconds(1000);

}  // namespace

Result<ControlAnswer> AskLivingTuner(const std::string& db_path, ControlRequest request,
                                     const Clock& clock, Duration patience) {
  const std::optional<LockHolder> holder = FindLockHolder(db_path);
  if (!holder || !holder->MayRun(request.sweep)) {
    return FailedPrecondition("no tuner runs " + Printable(request.sweep));
  }
  request.tuner = holder->pid;
  Result<ControlAnswer> answer = AskTuner(ArtifactsDirOf(db_path), request, clock, patience);
  if (answer.status().code() == StatusCode::kNotFound) {
    return Unavailable(DescribeHolder(*holder) +
                       " takes no commands: " + answer.status().message());
  }
  if (!answer.ok()) return answer.status().At(DescribeHolder(*holder));
  return answer;
}

std::vector<std::string> LinesOfTuner(const std::string& db_path, const std::string& sweep,
                                      ControlVerb verb, const Clock& clock) {
  ControlRequest request;
  request.sweep = sweep;
  request.verb = verb;
  Result<ControlAnswer> answer = AskLivingTuner(db_path, request, clock, kPatience);
  if (!answer.ok() || !answer->status.ok()) return {};
  return std::move(answer->lines);
}

std::string WhyItWaits(const std::string& db_path, const std::string& sweep, const Clock& clock) {
  for (const std::string& line : LinesOfTuner(db_path, sweep, ControlVerb::kWaiting, clock)) {
    const Result<Value> waits = ParseJson(line);
    const Value* const why = waits.ok() && waits->is_map() ? waits->Find("why") : nullptr;
    if (why != nullptr && why->is_string()) return why->AsString();
  }
  return "";
}

std::vector<std::string> TroublesOfWorkers(const std::string& db_path, const std::string& sweep,
                                           const Clock& clock) {
  constexpr double kSilentSeconds = 5;  // Workers speak each second.
  std::vector<std::string> lines;
  ControlRequest request;
  request.sweep = sweep;
  request.verb = ControlVerb::kWorkers;
  const Result<ControlAnswer> answer = AskLivingTuner(db_path, request, clock, kPatience);
  if (!answer.ok() || !answer->status.ok()) return lines;
  for (const std::string& line : answer->lines) {
    const Result<Value> worker = ParseJson(line);
    if (!worker.ok() || !worker->is_map()) continue;
    const Value* const name = worker->Find("worker");
    if (name == nullptr || !name->is_string()) continue;
    const Value* const silent = worker->Find("silent_seconds");
    if (silent != nullptr && silent->is_number() && silent->AsDouble() >= kSilentSeconds) {
      lines.push_back(Printable(name->AsString()) + " has not been heard of for " +
                      FormatDuration(Seconds(std::floor(silent->AsDouble()))));
    }
    const Value* const waits = worker->Find("waits_for");
    if (waits != nullptr && waits->is_string()) {
      lines.push_back(Printable(name->AsString() + ": " + waits->AsString()));
    }
  }
  if (answer->left_out > 0) {
    lines.push_back("nothing is known of " + Counted(answer->left_out, "more worker") +
                    ": one answer of the tuner has no room for them");
  }
  return lines;
}

std::string DescribeNoWorkers(const std::string& db_path, const std::string& sweep,
                              const Clock& clock) {
  const size_t count = LinesOfTuner(db_path, sweep, ControlVerb::kWorkers, clock).size();
  if (count == 0) return "none";
  return "none has had a trial of it yet, of " + std::to_string(count);
}

void TellPaused(const std::string& db_path, const Clock& clock, FoundSweep& sweep) {
  if (sweep.status != kStateRunning) return;
  const std::vector<std::string> lines =
      LinesOfTuner(db_path, sweep.name, ControlVerb::kState, clock);
  if (lines.size() == 1 && lines[0] == kStatePaused) sweep.status = kStatePaused;
}

LivingStates LivingStates::Ask(const std::string& db_path, const std::vector<FoundSweep>& sweeps,
                               const Clock& clock, Duration patience) {
  LivingStates states;
  if (std::none_of(sweeps.begin(), sweeps.end(), HasTuner)) return states;
  const std::optional<LockHolder> holder = FindLockHolder(db_path);
  if (!holder || holder->is_brief()) return states;
  ControlRequest request;
  request.verb = ControlVerb::kStates;
  request.sweep = holder->experiment.empty() ? "all" : holder->experiment;
  const Result<ControlAnswer> answer = AskLivingTuner(db_path, request, clock, patience);
  if (answer.status().code() == StatusCode::kFailedPrecondition) return states;  // It has ended.
  states.status_ = answer.ok() ? answer->status : answer.status();
  if (!states.status_.ok()) return states;
  for (const std::string& line : answer->lines) states.Take(line);
  if (answer->left_out > 0) {
    states.status_ =
        Unavailable("one answer of the tuner has no room for the states of all sweeps");
  }
  return states;
}

void LivingStates::Take(const std::string& line) {
  const Result<Value> read = ParseJson(line);
  const Value* const is_paused = read.ok() && read->is_map() ? read->Find("is_paused") : nullptr;
  const Value* const why = is_paused != nullptr ? read->Find("why") : nullptr;
  const Value* const sweeps = why != nullptr ? read->Find("sweeps") : nullptr;
  if (sweeps == nullptr || !why->is_string() || !sweeps->is_list()) return;
  for (const Value& id : sweeps->AsList()) {
    const State state = {*is_paused == Value(true), why->AsString()};
    if (id.is_int()) states_[id.AsInt()] = state;
    if (id.is_string()) named_[id.AsString()] = state;
  }
}

const LivingStates::State* LivingStates::Find(const FoundSweep& sweep) const {
  if (const auto named = named_.find(sweep.name); named != named_.end()) return &named->second;
  const auto state = states_.find(sweep.id);
  return state == states_.end() ? nullptr : &state->second;
}

void LivingStates::TellPaused(FoundSweep& sweep) const {
  const State* const state = Find(sweep);
  const bool is_paused = state != nullptr && state->is_paused;
  if (is_paused && sweep.status == kStateRunning) sweep.status = kStatePaused;
}

std::string LivingStates::WhyItWaits(const FoundSweep& sweep) const {
  const State* const state = Find(sweep);
  return state == nullptr ? "" : state->why;
}

bool HasTuner(const FoundSweep& sweep) {
  return sweep.status == kStateRunning || sweep.status == kStatePaused;
}

}  // namespace tune
