// A stream's text: as the journal's (event_codec.cc), with its letters and places for what both
// have, and with capital letters for what stands in a stream alone:
//
//   ["T", us] TimeSet                     ["L"] TimeLimitsChecked
//   ["D"] LifeEnded    ["B"] LifeBegan    ["W", was_stopped] WentOn
//   ["R", ["r", ...]] or ["R", ["r", ...], count, device] Reported, with what is beside it
//   ["E", ["e", ...], was_running, could_have_whole] LeaseEnded
//   ["E", ..., could_have_whole, trial, attempt, epoch]  with the lease that began
//   ["N", notice, field, ...] NoticeBooked ["H", notice, field, ...] NoticeHeeded; their notices:
//        ["lost", trial, attempt, epoch, why, could_have_whole]  ["dropped", trial, attempt, epoch]
//        ["away", worker]  ["back", from, to]  ["kept", lease, from]
//        ["unsent", rank, from]  ["unknown", trial, attempt, epoch, worker]  ["left", name, news]
//   ["K", trial] TrialTaken, -1 for a new one; ["K", -1, 1] where there was none
//        by until.regret, ["K", -1, 2] where there was none in an exhausted space
//   ["G", trial, rank, ...] Granted       ["Q", rank] GrantedAhead
//        a rank is [lease, device_name, ends_seen], or, of the first of several,
//        [lease, device_name, ends_seen, address], a lease
//        [trial, attempt, epoch, rank, worker, cpu_milli, fuse_key, [device, milli, ...]] and
//        [memory_bytes, ...] where memory is held, too
//   ["M"] NoMoreTold   ["P"] PlaceableSeen; ["P", have] where no worker could ever take it
//   ["U", cpu_milli, gpu_milli, gpu_memory, memory, workers, spread, learned, seen, beyond]
//        MemoryLearned
//   ["."] StepEnded
//
// Stored streams are read by later programs: letters and places are never given another meaning.
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "tuner/journal_text.h"
#include "tuner/sweep_event.h"

namespace tune {
namespace journal_text {
namespace {

// ---- to text

void AppendLetter(char letter, std::string& out) {
  out.push_back('"');
  out.push_back(letter);
  out.push_back('"');
}

void AppendFlag(bool flag, std::string& out) { AppendField(flag ? 1 : 0, out); }

// An event of the journal's as one field.
template <typename Inner>
void AppendInner(const Inner& event, std::string& out) {
  out += ",[";
  AppendEvent(event, out);
  out.push_back(']');
}

void AppendLease(const LeaseTable::Lease& lease, std::string& out) {
  out += out.back() == '[' ? "[" : ",[";
  AppendInt(lease.ref.trial.value, out);
  AppendField(lease.ref.attempt.value, out);
  AppendField(lease.ref.epoch.value, out);
  AppendField(lease.rank, out);
  AppendField(lease.placement.worker.value, out);
  AppendField(lease.placement.cpu_milli, out);
  AppendField(lease.placement.fuse_key, out);
  AppendSlices(lease.placement.slices, out);
  out.push_back(']');
}

void AppendRank(const GrantedRank& rank, std::string& out) {
  out += ",[";
  AppendLease(rank.lease, out);
  AppendField(rank.device, out);
  AppendField(rank.ends_seen, out);
  if (!rank.address.empty()) AppendField(rank.address, out);
  out.push_back(']');
}

struct NoticeEncoder {
  std::string& out;

  void operator()(const LeaseLost& notice) const {
    out += ",\"lost\"";
    AppendRef(notice.ref, out);
    AppendField(notice.why, out);
    AppendFlag(notice.could_have_whole, out);
  }
  void operator()(const LeaseDropped& notice) const {
    out += ",\"dropped\"";
    AppendRef(notice.ref, out);
  }
  void operator()(const WorkerAway& notice) const {
    out += ",\"away\"";
    AppendField(notice.worker.value, out);
  }
  void operator()(const WorkerBack& notice) const {
    out += ",\"back\"";
    AppendField(notice.from.value, out);
    AppendField(notice.to.value, out);
  }
  void operator()(const LeaseKept& notice) const {
    out += ",\"kept\"";
    AppendLease(notice.lease, out);
    AppendField(notice.from.value, out);
  }
  void operator()(const LeaseUnsent& notice) const {
    out += ",\"unsent\"";
    AppendRank(notice.rank, out);
    AppendField(notice.from.value, out);
  }
  void operator()(const LeaseUnknown& notice) const {
    out += ",\"unknown\"";
    AppendRef(notice.ref, out);
    AppendField(notice.worker.value, out);
  }
  void operator()(const WorkerLeft& notice) const {
    out += ",\"left\"";
    AppendField(notice.name, out);
    AppendField(notice.news, out);
  }
};

struct StreamEncoder {
  std::string& out;

  template <typename InBothTexts>
  void operator()(const InBothTexts& event) const {
    AppendEvent(event, out);
  }
  void operator()(const TimeSet& event) const {
    AppendLetter('T', out);
    AppendField(event.at.us, out);
  }
  void operator()(const TimeLimitsChecked&) const { AppendLetter('L', out); }
  void operator()(const LifeEnded&) const { AppendLetter('D', out); }
  void operator()(const LifeBegan&) const { AppendLetter('B', out); }
  void operator()(const WentOn& event) const {
    AppendLetter('W', out);
    AppendFlag(event.was_stopped, out);
  }
  void operator()(const Reported& event) const {
    AppendLetter('R', out);
    AppendInner(event.report, out);
    if (event.beside.count == 0 && event.beside.device.empty()) return;
    AppendField(event.beside.count, out);
    AppendField(event.beside.device, out);
  }
  void operator()(const LeaseEnded& event) const {
    AppendLetter('E', out);
    AppendInner(AttemptFinished{event.worker, event.end}, out);
    AppendFlag(event.was_running, out);
    AppendFlag(event.could_have_whole, out);
    if (event.begun) AppendRef(*event.begun, out);
  }
  void operator()(const NoticeBooked& event) const {
    AppendLetter('N', out);
    std::visit(NoticeEncoder{out}, event.notice);
  }
  void operator()(const NoticeHeeded& event) const {
    AppendLetter('H', out);
    std::visit(NoticeEncoder{out}, event.notice);
  }
  void operator()(const TrialTaken& event) const {
    AppendLetter('K', out);
    AppendTrial(event.waiting, out);
    if (event.none_made != NoneMade::kNo) {
      AppendField(static_cast<int64_t>(event.none_made), out);
    }
  }
  void operator()(const Granted& event) const {
    AppendLetter('G', out);
    AppendField(event.trial.value, out);
    for (const GrantedRank& rank : event.ranks) AppendRank(rank, out);
  }
  void operator()(const GrantedAhead& event) const {
    AppendLetter('Q', out);
    AppendRank(event.rank, out);
  }
  void operator()(const NoMoreTold&) const { AppendLetter('M', out); }
  void operator()(const PlaceableSeen& event) const {
    AppendLetter('P', out);
    if (!event.is_placeable) AppendField(event.have, out);
  }
  void operator()(const MemoryLearned& event) const {
    AppendLetter('U', out);
    AppendField(event.request.cpu_milli, out);
    AppendField(event.request.gpu_milli, out);
    AppendField(event.request.gpu_memory_bytes, out);
    AppendField(event.request.memory_bytes, out);
    AppendField(event.request.workers, out);
    AppendFlag(event.request.spread, out);
    AppendField(event.request.learned_gpu_memory_bytes, out);
    AppendField(event.bytes_seen, out);
    AppendFlag(event.is_beyond_share, out);
  }
  void operator()(const StepEnded&) const { AppendLetter('.', out); }
};

void AppendStreamEvent(const SweepEvent& event, std::string& out) {
  std::visit(StreamEncoder{out}, event);
}

// ---- from text

// A field that is an event of the journal's, of this kind.
template <typename Inner>
Inner ReadInner(Fields& fields) {
  Value::List list = fields.List();
  Fields inner(list);
  Event event = ReadEvent(inner.Text(), inner);
  if (!inner.Good() || !std::holds_alternative<Inner>(event)) {
    fields.Fail();
    return Inner{};
  }
  return std::get<Inner>(std::move(event));
}

LeaseTable::Lease ReadLease(Fields& fields) {
  Value::List list = fields.List();
  Fields inner(list);
  LeaseTable::Lease lease;
  lease.ref = inner.Ref();
  lease.rank = inner.Int();
  lease.placement.worker = WorkerId{inner.Int()};
  lease.placement.cpu_milli = inner.Int();
  lease.placement.fuse_key = inner.Text();
  lease.placement.slices = ReadSlices(inner);
  if (!inner.Good()) fields.Fail();
  return lease;
}

GrantedRank ReadRank(Fields& fields) {
  Value::List list = fields.List();
  Fields inner(list);
  GrantedRank rank{ReadLease(inner), inner.Text(), inner.Int()};
  if (!inner.AtEnd()) rank.address = inner.Text();
  if (!inner.Good()) fields.Fail();
  return rank;
}

WorkerId ReadWorker(Fields& fields) { return WorkerId{fields.Int()}; }

// The fields of an aggregate are evaluated in order.
Notice ReadNotice(Fields& fields) {
  const std::string name = fields.Text();
  if (name == "lost") return LeaseLost{fields.Ref(), fields.Text(), fields.Flag()};
  if (name == "dropped") return LeaseDropped{fields.Ref()};
  if (name == "away") return WorkerAway{ReadWorker(fields)};
  if (name == "back") return WorkerBack{ReadWorker(fields), ReadWorker(fields)};
  if (name == "kept") return LeaseKept{ReadLease(fields), ReadWorker(fields)};
  if (name == "unsent") return LeaseUnsent{ReadRank(fields), ReadWorker(fields)};
  if (name == "unknown") return LeaseUnknown{fields.Ref(), ReadWorker(fields)};
  if (name == "left") return WorkerLeft{fields.Text(), fields.Text()};
  fields.Fail();
  return LeaseDropped{};
}

Reported ReadReported(Fields& fields) {
  Reported event{ReadInner<ReportArrived>(fields), {}};
  if (!fields.AtEnd()) event.beside = {fields.Int(), fields.Text()};
  return event;
}

LeaseEnded ReadLeaseEnded(Fields& fields) {
  LeaseEnded event;
  AttemptFinished finished = ReadInner<AttemptFinished>(fields);
  event.worker = finished.worker;
  event.end = std::move(finished.message);
  event.was_running = fields.Flag();
  event.could_have_whole = fields.Flag();
  if (!fields.AtEnd()) event.begun = fields.Ref();
  return event;
}

Granted ReadGranted(Fields& fields) {
  Granted event{TrialNumber{fields.Int()}, {}};
  while (!fields.AtEnd()) event.ranks.push_back(ReadRank(fields));
  if (event.ranks.empty()) fields.Fail();
  return event;
}

TrialTaken ReadTrialTaken(Fields& fields) {
  TrialTaken event{fields.Trial()};
  if (fields.AtEnd()) return event;
  const int64_t none_made = fields.Int();
  if (none_made < 0 || none_made > static_cast<int64_t>(NoneMade::kExhausted)) fields.Fail();
  event.none_made = static_cast<NoneMade>(none_made);
  return event;
}

PlaceableSeen ReadPlaceableSeen(Fields& fields) {
  if (fields.AtEnd()) return PlaceableSeen{};
  return PlaceableSeen{false, fields.Text()};
}

MemoryLearned ReadMemoryLearned(Fields& fields) {
  MemoryLearned event;
  event.request.cpu_milli = fields.Int();
  event.request.gpu_milli = fields.Int();
  event.request.gpu_memory_bytes = fields.Int();
  event.request.memory_bytes = fields.Int();
  event.request.workers = fields.Int();
  event.request.spread = fields.Flag();
  event.request.learned_gpu_memory_bytes = fields.Int();
  event.bytes_seen = fields.Int();
  event.is_beyond_share = fields.Flag();
  return event;
}

// One of a stream's own; nothing: the letter is none of theirs.
std::optional<SweepEvent> ReadOwn(char letter, Fields& fields) {
  switch (letter) {
    case 'T':
      return TimeSet{Instant{fields.Int()}};
    case 'L':
      return TimeLimitsChecked{};
    case 'D':
      return LifeEnded{};
    case 'B':
      return LifeBegan{};
    case 'W':
      return WentOn{fields.Flag()};
    case 'R':
      return ReadReported(fields);
    case 'E':
      return ReadLeaseEnded(fields);
    case 'N':
      return NoticeBooked{ReadNotice(fields)};
    case 'H':
      return NoticeHeeded{ReadNotice(fields)};
    case 'K':
      return ReadTrialTaken(fields);
    case 'G':
      return ReadGranted(fields);
    case 'Q':
      return GrantedAhead{ReadRank(fields)};
    case 'M':
      return NoMoreTold{};
    case 'P':
      return ReadPlaceableSeen(fields);
    case 'U':
      return ReadMemoryLearned(fields);
    case '.':
      return StepEnded{};
    default:
      return std::nullopt;
  }
}

// Whether a stream may have it; the journal's others are the controller's.
template <typename Kind, typename... Kinds>
constexpr bool IsOneOf(const std::variant<Kinds...>*) {
  return (std::is_same_v<Kind, Kinds> || ...);
}

SweepEvent ReadSweepEvent(Fields& fields) {
  const std::string letter = fields.Text();
  if (letter.size() == 1) {
    if (auto own = ReadOwn(letter.front(), fields)) return *std::move(own);
  }
  const auto in_stream = [&fields](auto&& event) -> SweepEvent {
    using Kind = std::remove_cvref_t<decltype(event)>;
    if constexpr (IsOneOf<Kind>(static_cast<const SweepEvent*>(nullptr))) {
      return std::forward<decltype(event)>(event);
    }
    fields.Fail();
    return StepEnded{};
  };
  return std::visit(in_stream, ReadEvent(letter, fields));
}

}  // namespace
}  // namespace journal_text

std::string EncodeStream(const std::vector<SweepEvent>& stream) {
  return journal_text::EncodeList(stream, journal_text::AppendStreamEvent);
}

Result<std::vector<SweepEvent>> DecodeStream(std::string_view text) {
  return journal_text::DecodeList<SweepEvent>(text, journal_text::ReadSweepEvent);
}

}  // namespace tune
