#include "tuner/page/page_api.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/time.h"
#include "core/utf8.h"
#include "tuner/cli/look/living_state.h"
#include "tuner/cli/look/stored_doubts.h"
#include "tuner/cli/look/stored_snapshot.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/steer/note_command.h"
#include "tuner/cli/words/text_table.h"
#include "tuner/page/charts.h"
#include "tuner/page/head_answers.h"
#include "tuner/page/page_action.h"
#include "tuner/page/page_json.h"
#include "tuner/page/sweep_summary.h"

namespace tune {
namespace {

// Of tune ask a sweep is RUNNING, and nobody can be asked.
bool HasLivingTuner(const FoundSweep& sweep) { return HasTuner(sweep) && !sweep.is_told(); }

// Differs where trials have come, reported or failed.
Result<std::string> StateOfTrials(Database& database, int64_t experiment) {
  static constexpr char kSql[] =
      "SELECT count() || ' ' || sum(iterations) || ' ' || sum(attempts) || ' ' ||"
      " sum(status = 'ERROR') FROM trials WHERE experiment = ?1";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSql));
  row->BindAll(experiment);
  TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
  return has_row ? std::string(row->Text(0)) : "";
}

std::optional<int64_t> WholeNumber(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

// "1,2,3" as it stands behind `name` of the address; empty where it does not.
Result<std::set<int64_t>> NumbersOf(const HttpRequest& request, const std::string& name) {
  std::set<int64_t> numbers;
  const auto named = request.query.find(name);
  if (named == request.query.end()) return numbers;
  std::string_view rest = named->second;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    const std::optional<int64_t> number = WholeNumber(one);
    if (!number) {
      return InvalidArgument(name + ": read '" + std::string(one) +
                             "', expected numbers such as 1,2,3");
    }
    numbers.insert(*number);
  }
  return numbers;
}

std::string TextOf(const HttpRequest& request, const std::string& name) {
  const auto named = request.query.find(name);
  return named == request.query.end() ? "" : ToUtf8(named->second);
}

// A whole number, also one below 0; `otherwise` where there is none.
Result<int64_t> NumberOf(const HttpRequest& request, const std::string& name, int64_t otherwise) {
  const std::string text = TextOf(request, name);
  if (text.empty()) return otherwise;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  return InvalidArgument(name + ": read '" + text + "', expected a whole number");
}

// A whole number that is 0 or more.
Result<int64_t> CountOf(const HttpRequest& request, const std::string& name) {
  TUNE_ASSIGN_OR_RETURN(const int64_t count, NumberOf(request, name, 0));
  if (count >= 0) return count;
  return InvalidArgument(name + ": read '" + TextOf(request, name) +
                         "', expected 0 or a number above it");
}

// To go on with a sweep that is over, or to delete it. The head removes what it left.
Result<ControlAnswer> AskHead(const std::string& db_path, const ControlRequest& request,
                              const Clock& clock) {
  if (!HasHead(db_path)) {
    return FailedPrecondition(std::string("no head holds the database; from a terminal: tune ") +
                              ControlVerbName(request.verb) + " " + Printable(request.sweep));
  }
  return AskLivingTuner(db_path, request, clock, kActionPatience);
}

Status NothingHere() { return NotFound("there is nothing at this address"); }

}  // namespace

Result<std::unique_ptr<PageApi>> PageApi::Open(const std::string& db_path, std::string life,
                                               const Clock& clock, SlowAnswers slow_answers,
                                               SubmitsAgain again) {
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<Database> database, OpenForQueries(db_path));
  return std::unique_ptr<PageApi>(
      new PageApi(std::move(database), std::move(life), clock, slow_answers, std::move(again)));
}

PageApi::Followed& PageApi::Follow(const FoundSweep& sweep) {
  for (auto it = followed_.begin(); it != followed_.end(); ++it) {
    if (it->trials.experiment() != sweep.id || it->created_us != sweep.created_us) continue;
    std::rotate(followed_.begin(), it, it + 1);
    return followed_.front();
  }
  const std::string life = life_ + "-" + std::to_string(++followed_count_);
  followed_.push_front({sweep.created_us, TrialRows(sweep, life), SweepCourse(sweep)});
  if (followed_.size() > kFollowedMax) followed_.pop_back();
  return followed_.front();
}

Result<std::string> PageApi::SummaryOf(const FoundSweep& sweep) {
  if (!sweep.finished_us) return SummaryJson(*database_, sweep, clock_);
  const auto known = ended_.find(sweep.id);
  const bool is_same = known != ended_.end() && known->second.created_us == sweep.created_us &&
                       known->second.finished_us == *sweep.finished_us &&
                       known->second.status == sweep.status;
  if (is_same) return known->second.summary;
  TUNE_ASSIGN_OR_RETURN(const std::string summary, SummaryJson(*database_, sweep, clock_));
  ended_[sweep.id] = {sweep.created_us, *sweep.finished_us, sweep.status, summary};
  // The latest ones stay: a look at the list goes through all of them.
  if (ended_.size() > kEndedMax) ended_.erase(ended_.begin());
  return summary;
}

Result<std::string> PageApi::Sweeps() {
  TUNE_ASSIGN_OR_RETURN(const std::vector<FoundSweep> sweeps, ListSweeps(*database_));
  // It is one thread that answers everybody.
  const LivingStates states =
      LivingStates::Ask(database_->path(), sweeps, clock_, /*patience=*/Seconds(1));
  std::set<int64_t> ids;
  std::string out = "[";
  for (auto it = sweeps.rbegin(); it != sweeps.rend(); ++it) {
    if (out.size() > 1) out += ',';
    FoundSweep living = *it;
    states.TellPaused(living);
    TUNE_ASSIGN_OR_RETURN(const std::string summary, SummaryOf(living));
    out += summary;
    AppendLabels(living.labels, out);
    out += "}";
    ids.insert(living.id);
  }
  std::erase_if(ended_, [&](const auto& one) { return !ids.contains(one.first); });
  return out + "]";
}

Result<std::string> PageApi::Sweep(const FoundSweep& sweep, PageRights rights) {
  static constexpr char kSpecSql[] = "SELECT spec, provenance FROM experiments WHERE id = ?1";
  FoundSweep living = sweep;
  TellPaused(database_->path(), clock_, living);
  TUNE_ASSIGN_OR_RETURN(std::string out, SummaryOf(living));
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database_->Kept(kSpecSql));
  row->BindAll(sweep.id);
  TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
  AppendLabels(living.labels, out);
  TUNE_ASSIGN_OR_RETURN(const Value provenance, ProvenanceValue(has_row ? row->Text(1) : "{}"));
  AppendField("provenance", provenance, out);
  AppendField("may_note", rights == PageRights::kAct, out);
  const bool is_at_rest = !HasTuner(living) && !living.is_told();
  AppendField("may_manage", rights == PageRights::kAct && is_at_rest && HasHead(database_->path()),
              out);
  const bool may_again = rights == PageRights::kAct && again_ != nullptr && !living.is_told() &&
                         HasHead(database_->path());
  AppendField("may_again", may_again, out);
  AppendField("may_act", rights == PageRights::kAct && HasLivingTuner(living), out);
  out += ",\"spec\":" + (has_row ? std::string(row->Text(0)) : "{}") + ",\"doubts\":[";
  TUNE_ASSIGN_OR_RETURN(const std::vector<Doubt> doubts, ReadDoubts(*database_, sweep.id));
  for (size_t i = 0; i < doubts.size(); ++i) {
    if (i > 0) out += ',';
    AppendJsonString(Describe(doubts[i]), out);
  }
  return out + "]}";
}

Result<std::string> PageApi::Beside(Aside& aside, const FoundSweep& sweep, Members* members) {
  if (slow_answers_ == SlowAnswers::kAtOnce) {
    TUNE_ASSIGN_OR_RETURN(const std::string made, members(*database_, sweep));
    return "{" + made + "}";
  }
  TUNE_ASSIGN_OR_RETURN(const std::string state, StateOfTrials(*database_, sweep.id));
  const std::string subject = std::to_string(sweep.id) + " " + std::to_string(sweep.created_us);
  const Aside::Answer answer = aside.Ask(
      subject, state, [path = database_->path(), sweep, members]() -> Result<std::string> {
        TUNE_ASSIGN_OR_RETURN(const auto database, OpenForQueries(path));
        TUNE_RETURN_IF_ERROR(database->Execute("BEGIN"));
        return members(*database, sweep);
      });
  if (answer.body && !answer.body->ok()) return answer.body->status();
  std::string out = "{" + (answer.body ? **answer.body : "");
  AppendField("is_behind", answer.is_behind, out);
  return out + "}";
}

Result<std::string> PageApi::Ranges(const FoundSweep& sweep, const std::string& metric) {
  Followed& followed = Follow(sweep);
  TUNE_RETURN_IF_ERROR(followed.trials.Refresh(*database_));
  std::deque<MetricRanges>& known = followed.ranges;
  auto found = std::find_if(known.begin(), known.end(),
                            [&](const MetricRanges& one) { return one.metric() == metric; });
  if (found == known.end()) {
    if (known.size() >= kRangesMax) known.pop_back();
    known.emplace_front(metric, ColumnOf(metric, sweep.metric));
    found = known.begin();
  }
  std::rotate(known.begin(), found, found + 1);
  return known.front().Answer(*database_, followed.trials);
}

Result<std::string> PageApi::Course(const FoundSweep& sweep) {
  SweepCourse& course = Follow(sweep).course;
  TUNE_ASSIGN_OR_RETURN(const bool is_behind, course.Refresh(*database_));
  std::string out = "{" + course.Json();
  AppendField("is_behind", is_behind, out);
  const StoredSnapshots snapshots(Instant{sweep.created_us});
  TUNE_ASSIGN_OR_RETURN(const SweepSummary summary, snapshots.ReadTotals(*database_, sweep));
  AppendField("stopped_early", summary.early_count, out);
  AppendField("iterations", summary.iterations_trained, out);
  AppendField("iterations_full",
              summary.iterations_full ? Value(*summary.iterations_full) : Value(), out);
  std::string left;
  if (sweep.status == "RUNNING") {
    TUNE_ASSIGN_OR_RETURN(const SweepPace pace,
                          ReadPace(*database_, sweep, clock_.Now(), course.rungs()));
    const std::optional<TimeLeft> time_left = EstimateTimeLeft(pace);
    if (time_left) left = Describe(*time_left);
  }
  AppendField("time_left", left, out);
  return out + "}";
}

Result<std::string> PageApi::Trial(const FoundSweep& sweep, int64_t number) {
  static constexpr char kIdSql[] = "SELECT id FROM trials WHERE experiment = ?1 AND number = ?2";
#define TUNE_TRIAL_SQL(LIMIT_COLUMNS)                                                       \
  "SELECT number, status, stop_reason, iterations, last_value, best_value, best_iteration," \
  " attempts, created_at, started_at, finished_at, run_seconds, config, " LIMIT_COLUMNS     \
  " FROM trials WHERE id = ?1"
  // A database of an earlier version, in which no sweep has limits, lacks the two columns.
  static constexpr char kTrialSql[] = TUNE_TRIAL_SQL("NULL AS feasible, NULL AS violation");
  static constexpr char kLimitedTrialSql[] = TUNE_TRIAL_SQL("feasible, violation");
#undef TUNE_TRIAL_SQL
  static constexpr char kAttemptsSql[] =
      "SELECT a.number AS number, coalesce(nullif(w.name, ''), 'worker ' || a.worker) AS worker,"
      " outcome, error, from_iteration, started_at, finished_at FROM attempts AS a"
      " LEFT JOIN workers AS w ON w.id = a.worker WHERE trial = ?1 ORDER BY a.number";
  static constexpr char kDecisionsSql[] =
      "SELECT iteration, decision, scheduler, rung, cutoff, rank, count FROM decisions"
      " WHERE trial = ?1 AND (rung IS NOT NULL OR decision <> 'continue') ORDER BY iteration";
  static constexpr char kCheckpointsSql[] =
      "SELECT iteration, bytes, state FROM checkpoints WHERE trial = ?1 ORDER BY iteration";
  static constexpr char kReportsSql[] =
      "SELECT v.attempt AS attempt, v.iteration AS iteration, v.value AS value,"
      " v.metrics AS metrics, v.reported_at AS reported_at, r.decision IS NOT NULL AS is_decided"
      " FROM reports AS v JOIN report_rows AS r ON r.trial = v.trial AND r.attempt = v.attempt"
      " AND r.iteration = v.iteration WHERE v.trial = ?1"
      " ORDER BY v.iteration DESC, v.attempt DESC LIMIT 200";
  int64_t id = 0;
  {
    TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database_->Kept(kIdSql));
    row->BindAll(sweep.id, number);
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) return NotFound(sweep.name + " has no trial " + std::to_string(number));
    id = row->Int(0);
  }
  std::string out;
  const char* const trial_sql = sweep.has_limits() ? kLimitedTrialSql : kTrialSql;
  const std::pair<const char*, const char*> parts[] = {{"trial", trial_sql},
                                                       {"attempts", kAttemptsSql},
                                                       {"decisions", kDecisionsSql},
                                                       {"checkpoints", kCheckpointsSql},
                                                       {"latest_reports", kReportsSql}};
  for (const auto& [part, sql] : parts) {
    TUNE_ASSIGN_OR_RETURN(const std::string rows, RowsAsJson(*database_, sql, id));
    out += (out.empty() ? "{\"" : ",\"") + std::string(part) + "\":" + rows;
  }
  TUNE_ASSIGN_OR_RETURN(const std::vector<std::string> notes, ReadNotes(*database_, id));
  out += ",\"notes\":[";
  for (size_t i = 0; i < notes.size(); ++i) {
    if (i > 0) out += ',';
    AppendJsonString(notes[i], out);
  }
  return out + "]}";
}

Result<std::string> PageApi::BodyOfSweep(const std::string& name, std::string_view part,
                                         const HttpRequest& request, PageRights rights) {
  TUNE_ASSIGN_OR_RETURN(const FoundSweep sweep, FindSweep(*database_, name));
  if (part.empty()) return Sweep(sweep, rights);
  if (part == "trials") {
    TUNE_ASSIGN_OR_RETURN(const auto page, ReadTrialPage(request.query));
    if (page) return TrialRows::Page(*database_, sweep, *page);
    TUNE_ASSIGN_OR_RETURN(const int64_t first, CountOf(request, "first"));
    if (first > 0) {
      const Result<std::string> begin = TrialRows::First(*database_, sweep, first);
      // Of few trials the answer with a revision costs no more.
      if (!begin.ok() || !begin->ends_with(R"("left_out":0})")) return begin;
    }
    TrialRows& trials = Follow(sweep).trials;
    TUNE_RETURN_IF_ERROR(trials.Refresh(*database_));
    return trials.Answer(TextOf(request, "since"));
  }
  if (part == "curves") {
    CurveQuery query;
    TUNE_ASSIGN_OR_RETURN(query.trials, NumbersOf(request, "trials"));
    query.metric = TextOf(request, "metric");
    return CurvesJson(*database_, sweep, query);
  }
  if (part == "ranges") {
    const std::string metric = TextOf(request, "metric");
    return Ranges(sweep, metric.empty() ? sweep.metric : metric);
  }
  if (part == "metrics") return MetricNamesJson(*database_, sweep);
  if (part == "course") return Course(sweep);
  if (part == "front") return FrontJson(*database_, sweep);
  if (part == "importance") return Beside(importance_, sweep, ImportanceMembers);
  if (part == "compared") return Beside(compared_, sweep, ComparedMembers);
  if (part == "workers") return WorkersJson(*database_, sweep, clock_);
  if (part == "timeline") return TimelineJson(*database_, sweep);
  return NothingHere();
}

Result<std::string> PageApi::Body(const std::vector<std::string>& parts, const HttpRequest& request,
                                  PageRights rights) {
  if (parts.empty()) return Sweeps();
  if (parts.size() <= 2) {
    return BodyOfSweep(parts[0], parts.size() == 2 ? parts[1] : "", request, rights);
  }
  const std::optional<int64_t> number = WholeNumber(parts[2]);
  if (parts[1] != "trials" || !number || parts.size() > 4) return NothingHere();
  TUNE_ASSIGN_OR_RETURN(const FoundSweep sweep, FindSweep(*database_, parts[0]));
  if (parts.size() == 3) return Trial(sweep, *number);
  if (parts[3] != "log") return NothingHere();
  TUNE_ASSIGN_OR_RETURN(const int64_t attempt, CountOf(request, "attempt"));
  TUNE_ASSIGN_OR_RETURN(const int64_t from, NumberOf(request, "from", -kLogBytesMax));
  TUNE_ASSIGN_OR_RETURN(const int64_t rank, CountOf(request, "rank"));
  return LogJson(database_->path(), sweep.name, *number, {attempt, rank}, from);
}

Status PageApi::FollowFile() {
  if (!database_->HasMoved()) return OkStatus();
  Result<std::unique_ptr<Database>> other = OpenForQueries(database_->path());
  if (!other.ok()) {
    return Unavailable("the database that was looked at is not there any more: " +
                       other.status().message());
  }
  database_ = *std::move(other);
  life_ = life_.substr(0, life_.find('-')) + "-" + std::to_string(++file_count_);
  followed_.clear();
  ended_.clear();
  told_version_ = -1;
  return OkStatus();
}

std::string PageApi::NextEvent() {
  if (!FollowFile().ok()) return "";  // Who asks is told.
  const Result<int64_t> version = database_->QueryInt("PRAGMA data_version");
  if (!version.ok() || *version == told_version_) return "";
  told_version_ = *version;
  return std::to_string(++event_count_);
}

HttpAnswer PageApi::Act(const std::vector<std::string>& parts, const std::string& body) {
  if (body.size() > kActionBytesMax) {
    HttpAnswer too_long = ActionAnswer(
        {ResourceExhausted("the body has more than " + std::to_string(kActionBytesMax) + " bytes"),
         {}});
    too_long.status = 413;
    return too_long;
  }
  const Result<ControlAnswer> answer = ActOn(parts, body);
  return ActionAnswer(answer.ok() ? *answer : ControlAnswer{answer.status(), {}});
}

Result<ControlAnswer> PageApi::ActOn(const std::vector<std::string>& parts,
                                     const std::string& body) {
  if (parts.size() != 2 || parts[0].empty() || parts[1] != "actions") return NothingHere();
  TUNE_ASSIGN_OR_RETURN(const FoundSweep sweep, FindSweep(*database_, parts[0]));
  if (IsAgain(body)) {
    TUNE_ASSIGN_OR_RETURN(const AgainOptions again, ReadAgain(body, sweep.name));
    if (again_ == nullptr || !HasHead(database_->path())) {
      return FailedPrecondition(Printable(sweep.name) +
                                ": no head holds the database, and only a head takes submissions");
    }
    TUNE_ASSIGN_OR_RETURN(std::string name, again_(again));
    return ControlAnswer{OkStatus(), {std::move(name)}};
  }
  TUNE_ASSIGN_OR_RETURN(const ControlRequest request, ReadAction(body, sweep.name));
  if (request.verb == ControlVerb::kNote) {
    TUNE_ASSIGN_OR_RETURN(
        std::vector<std::string> lines,
        WriteLabels(database_->path(), sweep, request.labels, clock_, kActionPatience));
    return ControlAnswer{OkStatus(), std::move(lines)};
  }
  const bool is_at_rest =
      request.verb == ControlVerb::kResume || request.verb == ControlVerb::kDelete;
  if (is_at_rest) return AskHead(database_->path(), request, clock_);
  if (!HasLivingTuner(sweep)) {
    return FailedPrecondition(Printable(sweep.name) + " is " + sweep.status +
                              ": no tuner runs it that could be asked");
  }
  return AskLivingTuner(database_->path(), request, clock_, kActionPatience);
}

HttpAnswer PageApi::Answer(const HttpRequest& request, PageRights rights) {
  constexpr std::string_view kRoot = "/api/v1/sweeps";
  if (request.path == "/api/v1/events") {
    HttpAnswer events;
    events.is_event_stream = true;
    return events;
  }
  if (request.method != "POST") {
    if (request.path == "/api/v1/queue") return AnswerQueue(database_->path(), clock_);
    if (request.path == "/api/v1/cluster") return AnswerCluster(database_->path(), clock_);
  }
  std::string_view rest = request.path;
  if (!rest.starts_with(kRoot)) return ErrorAnswer(404, NothingHere().message());
  rest.remove_prefix(kRoot.size());
  std::vector<std::string> parts;
  while (rest.starts_with('/')) {
    rest.remove_prefix(1);
    parts.emplace_back(rest.substr(0, rest.find('/')));
    rest.remove_prefix(parts.back().size());
  }
  if (const Status s = FollowFile(); !s.ok()) return ErrorAnswer(503, s.message());
  if (request.method == "POST") return Act(parts, request.body);
  const Result<int64_t> version = database_->QueryInt("PRAGMA data_version");
  const std::string tag = version.ok() ? "\"" + life_ + std::to_string(*version) + "\"" : "";
  // The status of a sweep is also its tuner's, which may die without a word in the database, as
  // is what it tells of workers; a log grows without one; and what is read or weighed bit by bit
  // changes while the database does not.
  const bool has_tag = parts.size() >= 2 && parts.size() <= 3 && parts[1] != "course" &&
                       parts[1] != "importance" && parts[1] != "compared" &&
                       parts[1] != "workers" && !tag.empty();
  if (has_tag && request.if_none_match == tag) {
    HttpAnswer same;
    same.status = 304;
    same.headers = {{"ETag", tag}};
    return same;
  }
  Result<std::string> body = NothingHere();
  if (rest.empty() && std::find(parts.begin(), parts.end(), "") == parts.end()) {
    // One answer tells of one state.
    const Status begun = database_->Execute("BEGIN");
    body = begun.ok() ? Body(parts, request, rights) : Result<std::string>(begun);
    const Status ended = begun.ok() ? database_->Execute("COMMIT") : begun;
    if (!ended.ok()) body = ended;
  }
  if (!body.ok()) {
    const int status = body.status().code() == StatusCode::kNotFound          ? 404
                       : body.status().code() == StatusCode::kInvalidArgument ? 400
                                                                              : 500;
    return ErrorAnswer(status, body.status().message());
  }
  HttpAnswer answer;
  answer.content_type = "application/json";
  answer.body = *body;
  answer.headers = {{"Cache-Control", "no-cache"}};
  if (has_tag) answer.headers.emplace_back("ETag", tag);
  return answer;
}

}  // namespace tune
