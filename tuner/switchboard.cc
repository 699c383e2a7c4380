#include "tuner/switchboard.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/overloaded.h"
#include "tuner/sweep_mark.h"

namespace tune {
namespace {

// The lease that a notice is about; null: it is about a worker.
AttemptRef* RefOf(Notice& notice) {
  return std::visit(Overloaded{
                        [](LeaseLost& n) { return &n.ref; },
                        [](LeaseDropped& n) { return &n.ref; },
                        [](LeaseKept& n) { return &n.lease.ref; },
                        [](LeaseUnsent& n) { return &n.rank.lease.ref; },
                        [](LeaseUnknown& n) { return &n.ref; },
                        [](auto&) -> AttemptRef* { return nullptr; },
                    },
                    notice);
}

// What is looked at in every step, and changes nothing in most.
bool IsLook(const SweepEvent& event) {
  return std::holds_alternative<NoMoreTold>(event) || std::holds_alternative<PlaceableSeen>(event);
}

}  // namespace

OpenSweep* Switchboard::Find(ExperimentId id) {
  const auto found = sweeps_.find(id);
  return found == sweeps_.end() ? nullptr : &found->second;
}

void Switchboard::Begin(Instant now) {
  now_ = now;
  for (auto& [id, open] : sweeps_) {
    const bool is_new = std::exchange(open.is_new, false);
    // With one sweep each step is one of its own.
    if (sweeps_.size() == 1 || is_new || !open.out.workers.empty()) Touch(open);
  }
}

void Switchboard::Touch(OpenSweep& sweep) {
  if (sweep.is_touched) return;
  sweep.is_touched = true;
  SetTime(sweep, now_);
}

void Switchboard::SetTime(OpenSweep& sweep, Instant at) { Tell(sweep, TimeSet{at}); }

SweepAnswer Switchboard::Tell(OpenSweep& sweep, SweepEvent event) {
  Touch(sweep);
  Collect(cluster_out_.actions, {});
  SweepAnswer answer = sweep.sweep.Apply(event);
  if (sweep.sweep.has_wishes()) wishing_.insert(sweep.id);
  if (answer.candidate) answer.candidate->sweep = sweep.id;
  auto* const taken = std::get_if<TrialTaken>(&event);
  if (taken != nullptr && !taken->waiting) taken->none_made = answer.none_made;
  if (!IsLook(event) || answer.is_news) sweep.out.stream.push_back(std::move(event));
  Collect(sweep.out.actions, sweep.id);
  return answer;
}

void Switchboard::Collect(std::vector<Action>& actions, ExperimentId sweep) {
  for (Action& action : actions) {
    auto* const send = std::get_if<SendToWorker>(&action);
    if (send != nullptr && sweep != ExperimentId{}) MarkSweep(sweep, send->message);
    if (auto* const say = std::get_if<Say>(&action)) say->sweep = sweep;
    actions_.push_back(std::move(action));
  }
  actions.clear();
}

void Switchboard::Add(Action action) {
  Collect(cluster_out_.actions, {});
  actions_.push_back(std::move(action));
}

// Of a notice about a worker. Who left is for a person; that it is back, for those that had
// attempts there.
bool Switchboard::Concerns(const Notice& notice, const OpenSweep& sweep) const {
  if (const auto* const away = std::get_if<WorkerAway>(&notice)) {
    return sweep.sweep.leases().HoldsAny(away->worker);
  }
  if (options_.ends_with_sweeps) return true;
  const auto* const back = std::get_if<WorkerBack>(&notice);
  return back != nullptr && sweep.has_rows_of.contains(back->from);
}

std::vector<Switchboard::Routed> Switchboard::Route(Notices notices) const {
  std::vector<Routed> routed;
  for (Notice& notice : notices) {
    if (AttemptRef* const ref = RefOf(notice)) {
      const ExperimentId sweep = ref->sweep;
      if (sweeps_.contains(sweep)) ref->sweep = {};
      routed.push_back({sweep, std::move(notice)});
      continue;
    }
    bool is_first = true;
    for (const auto& [id, open] : sweeps_) {
      if (Concerns(notice, open)) routed.push_back({id, notice, std::exchange(is_first, false)});
    }
    const bool is_for_person = std::holds_alternative<WorkerLeft>(notice);
    if (sweeps_.empty() || (is_first && is_for_person)) routed.push_back({{}, std::move(notice)});
  }
  return routed;
}

// Who holds what is booked at once; what a notice leads to comes in order, behind those before it.
void Switchboard::Queue(Notices notices) {
  std::vector<Routed> routed = Route(std::move(notices));
  for (const Routed& one : routed) {
    if (OpenSweep* const sweep = Find(one.sweep)) Tell(*sweep, NoticeBooked{one.notice});
  }
  notices_.insert(notices_.begin(), std::make_move_iterator(routed.begin()),
                  std::make_move_iterator(routed.end()));
}

void Switchboard::Obey(OpenSweep& sweep) {
  wishing_.erase(sweep.id);
  for (const Wish& wish : sweep.sweep.TakeWishes()) {
    if (const auto* const end = std::get_if<EndLeasesAway>(&wish)) {
      const bool end_together = options_.ends_with_sweeps && sweeps_.size() == 1;
      Queue(end_together ? cluster_.EndAway(end->why, now_)
                         : cluster_.EndAwayOf(sweep.id, end->why));
    } else {
      cluster_.NoteFailedStart(std::get<NoteFailedStart>(wish).worker);
    }
  }
}

// What the sweep wishes comes before what else it was to be told.
void Switchboard::Settle() {
  // In their order; one before it that comes to wish meanwhile has its turn the next time.
  for (auto it = wishing_.begin(); it != wishing_.end();) {
    const ExperimentId id = *it;
    OpenSweep* const sweep = Find(id);
    sweep != nullptr ? Obey(*sweep) : void(wishing_.erase(id));
    it = wishing_.upper_bound(id);
  }
  while (!notices_.empty()) {
    const Routed routed = std::move(notices_.front());
    notices_.pop_front();
    Deliver(routed);
  }
}

void Switchboard::Heed(Notices notices) {
  Queue(std::move(notices));
  Settle();
}

void Switchboard::Deliver(const Routed& routed) {
  if (const auto* const left = std::get_if<WorkerLeft>(&routed.notice)) {
    if (routed.is_first) SayWhoLeft(*left);
  }
  OpenSweep* const sweep = Find(routed.sweep);
  if (sweep == nullptr) return;
  if (const auto* const lost = std::get_if<LeaseLost>(&routed.notice)) {
    Tell(*sweep, NoticeHeeded{LeaseLost{lost->ref, lost->why, CouldHaveWhole(*sweep)}});
  } else {
    Tell(*sweep, NoticeHeeded{routed.notice});
  }
  Obey(*sweep);
}

bool Switchboard::CouldHaveWhole(const OpenSweep& sweep) const {
  const std::optional<ResourceRequest> request = sweep.sweep.WholeDevices();
  return request && cluster_.leases().CouldPresentTake(*request);
}

void Switchboard::SayWhoLeft(const WorkerLeft& notice) {
  const bool is_working = std::any_of(sweeps_.begin(), sweeps_.end(), [](const auto& entry) {
    return entry.second.sweep.GivesOut();
  });
  if (!is_working && !sweeps_.empty()) return;
  std::string text = "worker " + notice.name + notice.news;
  if (cluster_.IsEmpty()) text += "; there is no other";
  // A head's sweeps wait without end, but for those whose space file says otherwise.
  if (cluster_.IsEmpty() && sweeps_.size() == 1 && options_.ends_with_sweeps) {
    const Duration patience = sweeps_.begin()->second.sweep.options().spec.limits.unplaceable;
    text += ", waiting " + FormatDuration(patience) + " for one (limits.unplaceable)";
  }
  Add(Say{std::move(text)});
}

// The last one: those before it are likely to end before it does.
void Switchboard::ChooseBookkeeper() {
  const OpenSweep* const before = Find(bookkeeper_);
  if (before != nullptr && !before->sweep.has_ended()) return;
  bookkeeper_ = {};
  const auto next = std::find_if(sweeps_.rbegin(), sweeps_.rend(),
                                 [](const auto& entry) { return !entry.second.sweep.has_ended(); });
  if (next == sweeps_.rend()) return;
  bookkeeper_ = next->first;
  for (const WorkerView& view : cluster_.leases().Views()) AddRowOf(view.worker, next->second);
}

// The first of the worker, as it is now.
void Switchboard::AddRowOf(WorkerId worker, OpenSweep& sweep) {
  if (!cluster_.workers().Has(worker) || !sweep.has_rows_of.insert(worker).second) return;
  Touch(sweep);
  sweep.out.workers.push_back(cluster_.workers().At(worker).row);
}

// Those that are new. No row of an attempt comes before those of its workers.
void Switchboard::AddWorkerRows(OpenSweep& sweep) {
  const bool has_all = options_.ends_with_sweeps || sweep.id == bookkeeper_;
  if (has_all || !sweep.has_rows_of.empty()) {
    for (const WorkerRow& row : cluster_out_.workers) {
      if (!has_all && !sweep.has_rows_of.contains(row.worker)) continue;
      Touch(sweep);
      sweep.has_rows_of.insert(row.worker);
      sweep.out.workers.push_back(row);
    }
  }
  if (options_.ends_with_sweeps) return;
  for (const AttemptRow& attempt : sweep.out.attempts) {
    if (attempt.worker) AddRowOf(*attempt.worker, sweep);
    for (const WorkerId worker : attempt.other_workers) AddRowOf(worker, sweep);
    for (const auto& [worker, slice] : attempt.devices) AddRowOf(worker, sweep);
  }
}

// It hears no more of them, and they stay for others.
void Switchboard::LetWorkersLeave(OpenSweep& sweep) const {
  for (const WorkerId worker : sweep.has_rows_of) {
    if (!cluster_.leases().HasWorker(worker)) continue;
    WorkerRow row = cluster_.workers().At(worker).row;
    row.state = WorkerState::kLeft;
    row.last_seen_at = now_;
    sweep.out.workers.push_back(std::move(row));
  }
}

HeadTransition Switchboard::End() {
  HeadTransition step;
  if (!options_.ends_with_sweeps) ChooseBookkeeper();
  for (auto& [id, open] : sweeps_) {
    AddWorkerRows(open);
    if (!std::exchange(open.is_touched, false)) continue;
    open.sweep.CheckInvariants();
    open.sweep.Conclude();
    if (open.sweep.has_ended() && !options_.ends_with_sweeps) LetWorkersLeave(open);
    Transition out = std::exchange(open.out, Transition{});
    const bool is_time_alone = out.stream.size() == 1 && out.workers.empty();
    if (!is_time_alone) step.sweeps.emplace(id, std::move(out));
  }
  Collect(cluster_out_.actions, {});
  cluster_out_ = Transition{};
  step.actions = std::exchange(actions_, {});
  return step;
}

}  // namespace tune
