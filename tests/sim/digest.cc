#include "tests/sim/digest.h"

#include <algorithm>
#include <bit>

#include "core/json.h"

namespace tune::sim {
namespace {

// Appends fields to a text, each with its end marked.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  Writer& operator<<(int64_t number) {
    char bytes[sizeof number];
    std::copy_n(reinterpret_cast<const char*>(&number), sizeof number, bytes);
    out_.append(bytes, sizeof number);
    return *this;
  }
  Writer& operator<<(int number) { return *this << static_cast<int64_t>(number); }
  Writer& operator<<(double number) { return *this << std::bit_cast<int64_t>(number); }
  Writer& operator<<(std::string_view text) {
    *this << static_cast<int64_t>(text.size());
    out_ += text;
    return *this;
  }
  Writer& operator<<(const std::string& text) { return *this << std::string_view(text); }
  Writer& operator<<(Instant t) { return *this << t.us; }
  template <typename Tag>
  Writer& operator<<(Id<Tag> id) {
    return *this << id.value;
  }
  template <typename T>
  Writer& operator<<(const std::optional<T>& value) {
    if (!value) return *this << static_cast<int64_t>(-1);
    return *this << static_cast<int64_t>(1) << *value;
  }
  Writer& operator<<(const AttemptRef& ref) {
    return *this << ref.trial << ref.attempt << ref.epoch;
  }
  Writer& operator<<(const TrialRow& row) {
    return *this << row.number << static_cast<int>(row.status) << static_cast<int>(row.stop_reason)
                 << row.iterations << row.last_value << row.best_value << row.best_iteration
                 << row.attempts << row.created_at << row.started_at << row.finished_at
                 << row.run_seconds;
  }
  Writer& operator<<(const AttemptRow& row) {
    for (const WorkerId other : row.other_workers) *this << other;
    return *this << row.trial << row.number << row.worker << static_cast<int>(row.outcome)
                 << row.error << row.from_iteration << row.started_at << row.finished_at;
  }
  Writer& operator<<(const Decision& decision) {
    return *this << static_cast<int>(decision.verdict) << static_cast<int>(decision.cause)
                 << decision.rung << decision.cutoff << decision.rank << decision.count;
  }

 private:
  std::string& out_;
};

struct MessageWriter {
  Writer& out;

  void operator()(const Welcome& m) { out << m.worker << m.experiment << m.trainable; }
  void operator()(const Refused& m) { out << m.reason; }
  void operator()(const StartAttempt& m) {
    out << m.ref << static_cast<int>(m.ahead) << m.ends_seen << m.cpu_milli << m.config
        << m.from_iteration << m.checkpoint_path << static_cast<int>(m.has_other_config)
        << m.config_since << m.artifact_dir << m.checkpoint_every << static_cast<int>(m.saves_first)
        << m.rank << m.world_size << static_cast<int>(m.is_spread) << m.lanes_max;
    for (const DeviceSlice& slice : m.slices)
      out << slice.device << slice.milli << slice.memory_bytes;
  }
  void operator()(const AnswerReport& m) {
    out << m.ref << m.sequence << static_cast<int>(m.answer);
  }
  void operator()(const KillAttempt& m) { out << m.ref << static_cast<int>(m.at_once); }
  void operator()(const EndsAcknowledged& m) { out << m.ends_seen; }
  void operator()(const Heartbeat&) {}
  void operator()(const Shutdown&) {}
};

void WriteRows(const Transition& transition, Writer& out) {
  for (const NewTrialRow& row : transition.new_trials) {
    out << row.trial << ToJson(row.configuration.ToFlat());
  }
  for (const TrialRow& row : transition.trials) out << row;
  for (const AttemptRow& row : transition.attempts) out << row;
  for (const ReportRow& row : transition.reports) {
    out << row.trial << row.attempt << row.iteration << row.value << row.reported_at
        << row.decision;
    for (const auto& [name, value] : row.metrics) out << name << value;
  }
  for (const OrderRow& row : transition.orders) {
    out << row.order.trial << static_cast<int>(row.order.kind) << row.iteration << row.ordered_at;
  }
  for (const ExploitRow& row : transition.exploits) {
    out << row.trial << row.iteration << row.source << row.source_iteration
        << ToJson(row.configuration.ToFlat());
  }
  for (const CheckpointRow& row : transition.checkpoints) {
    out << row.trial << row.iteration << row.ref.path << row.ref.bytes << row.ref.checksum
        << static_cast<int>(row.state);
  }
  for (const WorkerRow& row : transition.workers) {
    out << row.worker << row.name << row.address << row.capacity.cpu_milli
        << static_cast<int64_t>(row.capacity.devices.size()) << static_cast<int>(row.state)
        << row.joined_at << row.last_seen_at;
  }
  for (const LaneSpeedRow& row : transition.lane_speeds) {
    out << row.kind.shape << row.kind.device << row.speed.lanes << row.speed.images_per_second
        << row.speed.report_count;
  }
  if (transition.experiment) {
    out << static_cast<int>(transition.experiment->status) << transition.experiment->samples
        << transition.experiment->finished_at;
  }
}

}  // namespace

std::string Digest(const Transition& transition) {
  std::string text;
  Writer out(text);
  WriteRows(transition, out);
  for (const Action& action : transition.actions) {
    out << static_cast<int64_t>(action.index());
    if (const auto* const send = std::get_if<SendToWorker>(&action)) {
      out << send->worker << static_cast<int64_t>(send->message.index());
      std::visit(MessageWriter{out}, send->message);
    } else if (const auto* const remove = std::get_if<RemoveCheckpoint>(&action)) {
      out << remove->path;
    } else if (const auto* const disconnect = std::get_if<DisconnectWorker>(&action)) {
      out << disconnect->worker;
    } else if (const auto* const say = std::get_if<Say>(&action)) {
      out << say->text;
    }
  }
  return text;
}

}  // namespace tune::sim
