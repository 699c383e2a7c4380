#include "tests/sim/digest.h"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

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
  Writer& operator<<(bool is_so) { return *this << static_cast<int64_t>(is_so); }
  Writer& operator<<(uint64_t number) { return *this << std::bit_cast<int64_t>(number); }
  template <typename Enum>
  requires std::is_enum_v<Enum> Writer& operator<<(Enum value) {
    return *this << static_cast<int64_t>(value);
  }
  template <typename T>
  Writer& operator<<(const std::vector<T>& list) {
    *this << static_cast<int64_t>(list.size());
    for (const T& item : list) *this << item;
    return *this;
  }
  Writer& operator<<(const std::pair<std::string, double>& metric) {
    return *this << metric.first << metric.second;
  }
  Writer& operator<<(const Configuration& configuration) {
    return *this << ToJson(configuration.ToFlat());
  }
  Writer& operator<<(const DeviceSlice& slice) {
    return *this << slice.device << slice.milli << slice.memory_bytes;
  }
  Writer& operator<<(const Device& device) {
    return *this << device.index << device.name << device.memory_bytes << device.uuid;
  }
  Writer& operator<<(const AttemptRef& ref) {
    return *this << ref.trial << ref.attempt << ref.epoch;
  }
  Writer& operator<<(const NewTrialRow& row) { return *this << row.trial << row.configuration; }
  Writer& operator<<(const TrialRow& row) {
    return *this << row.number << row.status << row.stop_reason << row.iterations << row.last_value
                 << row.best_value << row.best_iteration << row.best_violation << row.attempts
                 << row.created_at << row.started_at << row.finished_at << row.run_seconds;
  }
  Writer& operator<<(const AttemptRow& row) {
    return *this << row.trial << row.number << row.worker << row.other_workers << row.outcome
                 << row.error << row.from_iteration << row.started_at << row.finished_at;
  }
  Writer& operator<<(const Decision& decision) {
    return *this << decision.verdict << decision.cause << decision.rung << decision.cutoff
                 << decision.rank << decision.count;
  }
  Writer& operator<<(const ReportRow& row) {
    return *this << row.trial << row.attempt << row.iteration << row.value << row.metrics
                 << row.reported_at << row.decision;
  }
  Writer& operator<<(const Order& order) {
    return *this << order.kind << order.trial << order.source << order.rung << order.cutoff
                 << order.rank << order.count;
  }
  Writer& operator<<(const OrderRow& row) {
    return *this << row.order << row.iteration << row.ordered_at;
  }
  Writer& operator<<(const ExploitRow& row) {
    return *this << row.trial << row.iteration << row.source << row.source_iteration
                 << row.configuration;
  }
  Writer& operator<<(const CheckpointRow& row) {
    return *this << row.trial << row.iteration << row.ref.path << row.ref.bytes << row.ref.checksum
                 << row.state;
  }
  Writer& operator<<(const NoteRow& row) { return *this << row.trial << row.kind << row.text; }
  Writer& operator<<(const WorkerRow& row) {
    return *this << row.worker << row.name << row.address << row.capacity.cpu_milli
                 << row.capacity.devices << row.state << row.joined_at << row.last_seen_at
                 << row.is_local << row.session << row.has_reported << row.failed_starts
                 << row.is_shunning_said;
  }
  Writer& operator<<(const LaneSpeedRow& row) {
    return *this << row.kind.shape << row.kind.device << row.speed.lanes
                 << row.speed.images_per_second << row.speed.report_count;
  }
  Writer& operator<<(const ExperimentRow& row) {
    return *this << row.status << row.samples << row.finished_at << row.given_up << row.ended_early;
  }
  // Which one it is, and what it holds.
  template <typename... Ts>
  Writer& operator<<(const std::variant<Ts...>& one_of) {
    *this << static_cast<int64_t>(one_of.index());
    std::visit([this](const auto& held) { *this << held; }, one_of);
    return *this;
  }
  Writer& operator<<(const Welcome& m) {
    for (const SweepInfo& sweep : m.sweeps)
      *this << m.worker << sweep << m.heartbeat_ms << m.lease_ms;
    return *this;
  }
  // The sweep's number is the store's.
  Writer& operator<<(const SweepInfo& m) {
    return *this << m.experiment << m.metric << m.trainable << m.base_dir << m.seed
                 << m.package.sha256 << m.package.bytes;
  }
  Writer& operator<<(const Refused& m) { return *this << m.reason; }
  Writer& operator<<(const StartAttempt& m) {
    return *this << m.ref << m.ahead << m.ends_seen << m.cpu_milli << m.slices << m.seed << m.config
                 << m.from_iteration << m.checkpoint_path << m.has_other_config << m.config_since
                 << m.artifact_dir << m.checkpoint_every << m.saves_first << m.memory_bytes
                 << m.rank << m.world_size << m.is_spread << m.lanes_max;
  }
  Writer& operator<<(const AnswerReport& m) { return *this << m.ref << m.sequence << m.answer; }
  Writer& operator<<(const KillAttempt& m) { return *this << m.ref << m.at_once; }
  Writer& operator<<(const EndsAcknowledged& m) { return *this << m.ends_seen; }
  Writer& operator<<(const Heartbeat&) { return *this; }  // A tuner's says nothing.
  Writer& operator<<(const RemoveCached&) { return *this; }
  Writer& operator<<(const SweepOver& m) { return *this << m.sweep.value; }
  Writer& operator<<(const Shutdown&) { return *this; }
  Writer& operator<<(const SendToWorker& action) {
    return *this << action.worker << action.message;
  }
  Writer& operator<<(const DisconnectWorker& action) { return *this << action.worker; }
  Writer& operator<<(const RemoveCheckpoint& action) { return *this << action.path; }
  Writer& operator<<(const EndOfExperiment& action) { return *this << action.status; }
  Writer& operator<<(const Say& action) { return *this << action.text; }

 private:
  std::string& out_;
};

}  // namespace

std::string Digest(const Transition& transition) {
  std::string text;
  Writer(text) << transition.new_trials << transition.trials << transition.attempts
               << transition.reports << transition.orders << transition.exploits
               << transition.checkpoints << transition.notes << transition.workers
               << transition.lane_speeds << transition.experiment << transition.present_spec
               << transition.actions;
  return text;
}

}  // namespace tune::sim
