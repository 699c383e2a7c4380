#include "trial_runner/wire/encode.h"

#include <variant>
#include <vector>

#include "core/overloaded.h"
#include "trial_runner/wire/enumerations.h"

namespace tune {
namespace {

void Put(const AttemptRef& ref, v1::AttemptRef* out) {
  out->set_trial(ref.trial.value);
  out->set_attempt(ref.attempt.value);
  out->set_epoch(ref.epoch.value);
  out->set_sweep(ref.sweep.value);
}

void Put(const std::vector<DeviceSlice>& slices,
         google::protobuf::RepeatedPtrField<v1::DeviceSlice>* out) {
  for (const DeviceSlice& slice : slices) {
    v1::DeviceSlice* const s = out->Add();
    s->set_device(slice.device);
    s->set_milli(slice.milli);
    s->set_memory_bytes(slice.memory_bytes);
  }
}

void Put(const Hello& hello, v1::Hello* out) {
  out->set_version(hello.version);
  out->set_name(hello.name);
  out->set_host(hello.host);
  out->set_pid(hello.pid);
  out->set_cpu_milli(hello.capacity.cpu_milli);
  for (const Device& device : hello.capacity.devices) {
    v1::Device* const d = out->add_devices();
    d->set_index(device.index);
    d->set_name(device.name);
    d->set_memory_bytes(device.memory_bytes);
    d->set_uuid(device.uuid);
  }
  out->set_local(hello.is_local);
  out->set_session(hello.session);
  for (const std::string& session : hello.ended_sessions) out->add_ended_sessions(session);
  for (const HeldAttempt& held : hello.held) {
    v1::HeldAttempt* const h = out->add_held();
    Put(held.ref, h->mutable_ref());
    h->set_cpu_milli(held.cpu_milli);
    Put(held.slices, h->mutable_slices());
  }
  out->set_address(hello.address);
}

void Put(const CheckpointRef& checkpoint, v1::Checkpoint* out) {
  out->set_path(checkpoint.path);
  out->set_bytes(checkpoint.bytes);
  out->set_checksum(checkpoint.checksum);
}

void Put(const CheckpointDurable& durable, v1::CheckpointDurable* out) {
  Put(durable.ref, out->mutable_ref());
  out->set_iteration(durable.iteration);
  Put(durable.checkpoint, out->mutable_checkpoint());
}

void Put(const AttemptReport& message, v1::AttemptReport* out) {
  const Report& report = message.report;
  Put(message.ref, out->mutable_ref());
  out->set_sequence(message.sequence);
  out->set_iteration(report.iteration);
  out->mutable_metrics()->Reserve(static_cast<int>(report.metrics.size()));
  for (const auto& [name, value] : report.metrics) {
    v1::Metric* const metric = out->add_metrics();
    metric->set_name(name);
    metric->set_value(value);
  }
  out->set_final(report.final);
  out->set_note(report.note);
  out->set_reading(report.reading);
  out->set_checkpoint_follows(report.checkpoint_follows);
  if (report.has_checkpoint) Put(report.checkpoint, out->mutable_checkpoint());
}

void Put(const AttemptEnded& ended, v1::AttemptEnded* out) {
  Put(ended.ref, out->mutable_ref());
  for (const auto& [outcome, wire] : kOutcomes) {
    if (outcome == ended.outcome) out->set_outcome(wire);
  }
  out->set_error(ended.error);
  for (const auto& [detail, wire] : kDetails) {
    if (detail == ended.detail) out->set_detail(wire);
  }
}

void Put(const Heartbeat& heartbeat, v1::Heartbeat* out) {
  for (const DeviceUse& use : heartbeat.devices) {
    v1::DeviceUse* const u = out->add_devices();
    u->set_device(use.device);
    u->set_used_bytes(use.used_bytes);
  }
  for (const std::string& path : heartbeat.cached) out->add_cached(path);
  out->set_waits_for(heartbeat.waits_for);
}

void Put(const DeviceLost& lost, v1::DeviceLost* out) {
  out->set_device(lost.device);
  out->set_why(lost.why);
}

void Put(const DeviceMemoryPeak& peak, v1::DeviceMemoryPeak* out) {
  Put(peak.ref, out->mutable_ref());
  out->set_bytes(peak.bytes);
}

void Put(const SweepUnfit& unfit, v1::SweepUnfit* out) {
  out->set_sweep(unfit.sweep.value);
  out->set_why(unfit.why);
}

void Put(const PackageName& package, v1::Package* out) {
  out->set_sha256(package.sha256);
  out->set_bytes(package.bytes);
}

void Put(const DataSeen& data, v1::DataSeen* out) {
  out->set_url(data.url);
  out->set_files(data.file_count);
  out->set_bytes(data.bytes);
  out->set_hash(data.hash);
}

void Put(const SweepInfo& info, v1::SweepInfo* out) {
  out->set_sweep(info.sweep.value);
  out->set_experiment(info.experiment);
  out->set_metric(info.metric);
  for (const std::string& metric : info.more_metrics) out->add_more_metrics(metric);
  out->set_less_is_better(info.mode == Mode::kMin);
  for (const std::string& metric : info.constrained) out->add_constrained(metric);
  out->set_trainable(info.trainable);
  out->set_base_dir(info.base_dir);
  out->set_seed(info.seed);
  out->set_elsewhere(info.is_elsewhere);
  out->set_bucket(info.bucket);
  out->set_async_checkpoints(info.has_async_checkpoints);
  out->set_lends_credentials(info.lends_credentials);
  for (const DataSeen& data : info.data) Put(data, out->add_data());
  for (const std::string& parameter : info.own_paths) out->add_own_paths(parameter);
  if (!info.package.sha256.empty()) Put(info.package, out->mutable_package());
}

void Put(const Welcome& welcome, v1::Welcome* out) {
  out->set_worker(welcome.worker.value);
  out->set_heartbeat_ms(welcome.heartbeat_ms);
  out->set_lease_ms(welcome.lease_ms);
  for (const SweepInfo& info : welcome.sweeps) Put(info, out->add_sweeps());
  out->set_is_head(welcome.is_head);
}

void Put(const RankGroup& group, v1::RankGroup* out) {
  out->set_local_rank(group.local_rank);
  out->set_local_world_size(group.local_world_size);
  out->set_node_rank(group.node_rank);
  out->set_node_count(group.node_count);
  for (const int64_t device : group.devices) out->add_devices(device);
  out->set_master_address(group.master_address);
  out->set_master_port(group.master_port);
}

void Put(const StartAttempt& start, v1::StartAttempt* out) {
  Put(start.ref, out->mutable_ref());
  out->set_ahead(start.ahead);
  out->set_ends_seen(start.ends_seen);
  out->set_cpu_milli(start.cpu_milli);
  Put(start.slices, out->mutable_slices());
  out->set_seed(start.seed);
  out->set_config(start.config);
  out->set_from_iteration(start.from_iteration);
  out->set_checkpoint_path(start.checkpoint_path);
  out->set_has_other_config(start.has_other_config);
  out->set_config_since(start.config_since.value);
  out->set_artifact_dir(start.artifact_dir);
  out->set_checkpoint_every(start.checkpoint_every);
  out->set_saves_first(start.saves_first);
  out->set_memory_bytes(start.memory_bytes);
  out->set_rank(start.rank);
  out->set_world_size(start.world_size);
  out->set_is_spread(start.is_spread);
  out->set_lanes_max(start.lanes_max);
  if (start.world_size > 1) Put(start.group, out->mutable_group());
}

void Put(const AnswerReport& answer, v1::AnswerReport* out) {
  Put(answer.ref, out->mutable_ref());
  out->set_sequence(answer.sequence);
  for (const auto& [value, wire] : kAnswers) {
    if (value == answer.answer) out->set_answer(wire);
  }
}

void Put(const KillAttempt& kill, v1::KillAttempt* out) {
  Put(kill.ref, out->mutable_ref());
  out->set_at_once(kill.at_once);
  out->set_finish_within_ms(kill.finish_within_ms);
}

}  // namespace

void Put(const FromWorker& message, v1::FromWorker* out) {
  std::visit(Overloaded{
                 [out](const Hello& m) { Put(m, out->mutable_hello()); },
                 [out](const AttemptReport& m) { Put(m, out->mutable_report()); },
                 [out](const AttemptEnded& m) { Put(m, out->mutable_ended()); },
                 [out](const Heartbeat& m) { Put(m, out->mutable_heartbeat()); },
                 [out](const Goodbye& m) { out->mutable_goodbye()->set_why(m.why); },
                 [out](const DeviceLost& m) { Put(m, out->mutable_device_lost()); },
                 [out](const DeviceMemoryPeak& m) { Put(m, out->mutable_device_memory_peak()); },
                 [out](const SweepUnfit& m) { Put(m, out->mutable_sweep_unfit()); },
                 [out](const CheckpointDurable& m) { Put(m, out->mutable_checkpoint_durable()); },
             },
             message);
}

void Put(const ToWorker& message, v1::ToWorker* out) {
  std::visit(Overloaded{
                 [out](const Welcome& m) { Put(m, out->mutable_welcome()); },
                 [out](const SweepInfo& m) { Put(m, out->mutable_sweep()); },
                 [out](const Refused& m) { out->mutable_refused()->set_reason(m.reason); },
                 [out](const StartAttempt& m) { Put(m, out->mutable_start()); },
                 [out](const AnswerReport& m) { Put(m, out->mutable_answer()); },
                 [out](const KillAttempt& m) { Put(m, out->mutable_kill()); },
                 [out](const EndsAcknowledged& m) {
                   out->mutable_ends_acknowledged()->set_ends_seen(m.ends_seen);
                 },
                 [out](const Heartbeat& m) { Put(m, out->mutable_heartbeat()); },
                 [out](const RemoveCached& m) { out->mutable_remove_cached()->set_path(m.path); },
                 [out](const SweepOver& m) { out->mutable_sweep_over()->set_sweep(m.sweep.value); },
                 [out](const Shutdown& m) {
                   out->mutable_shutdown()->set_why(m.why);
                   out->mutable_shutdown()->set_is_interrupted(m.is_interrupted);
                 },
             },
             message);
}

void Put(const FetchRequest& request, v1::FetchRequest* out) {
  Put(request.package, out->mutable_package());
  out->set_offset(request.offset);
}

void Put(const CheckpointCall& call, v1::CheckpointCall* out) {
  out->set_session(call.session);
  std::visit(Overloaded{
                 [out](const SeeNonce& see) {
                   out->mutable_see()->set_nonce(see.nonce);
                   out->mutable_see()->set_sweep(see.sweep.value);
                   out->mutable_see()->set_is_of_programs(see.is_of_programs);
                 },
                 [out](const PutCheckpoint& put) {
                   Put(put.ref, out->mutable_put()->mutable_ref());
                   out->mutable_put()->set_name(put.name);
                   Put(put.text, out->mutable_put()->mutable_text());
                 },
                 [out](const GetCheckpoint& get) {
                   Put(get.ref, out->mutable_get()->mutable_ref());
                   out->mutable_get()->set_path(get.path);
                   out->mutable_get()->set_offset(get.offset);
                 },
                 [out](const PutLog& put) {
                   Put(put.ref, out->mutable_log()->mutable_ref());
                   out->mutable_log()->set_rank(put.rank);
                   out->mutable_log()->set_offset(put.offset);
                   out->mutable_log()->set_text(put.text);
                 },
                 [out](const SignStoreRequest& sign) {
                   Put(sign.ref, out->mutable_sign()->mutable_ref());
                   out->mutable_sign()->set_method(sign.method);
                   out->mutable_sign()->set_key(sign.key);
                   out->mutable_sign()->set_sha256(sign.sha256);
                   for (const auto& [name, value] : sign.query) {
                     v1::QueryPair* const pair = out->mutable_sign()->add_query();
                     pair->set_name(name);
                     pair->set_value(value);
                   }
                 },
             },
             call.what);
}

void Put(const CheckpointAnswer& answer, v1::CheckpointAnswer* out) {
  out->set_seen(answer.is_seen);
  out->set_offset(answer.offset);
  out->set_path(answer.path);
  out->set_url(answer.url);
  if (!answer.text.sha256.empty()) Put(answer.text, out->mutable_text());
}

}  // namespace tune
