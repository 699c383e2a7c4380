#include "tuner/cli/steer/note_command.h"

#include <memory>
#include <utility>

#include "tuner/artifact_path.h"
#include "tuner/cli/look/stored_changes.h"
#include "tuner/cli/words/complain.h"
#include "tuner/control/asker.h"
#include "tuner/control/control_client.h"
#include "tuner/sqlite/sqlite_store.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {
namespace {

constexpr Duration kAnswerPatience = Milliseconds(30'000);
constexpr Duration kHolderPatience = Milliseconds(10'000);  // For one that comes or goes.
constexpr Duration kLookAgainEvery = Milliseconds(50);

using Lines = std::vector<std::string>;

Result<LabelChange> ReadChange(const NoteOptions& options) {
  TUNE_ASSIGN_OR_RETURN(LabelChange change, ReadLabels(options.text, options.tags));
  change.untag.insert(options.untag.begin(), options.untag.end());
  if (!change.empty() && options.name.empty()) {
    return InvalidArgument("NAME: read '', expected the name of a sweep");
  }
  return change;
}

Result<FoundSweep> Find(const NoteOptions& options) {
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database, OpenForQueries(options.db_path));
  return FindSweep(*database, options.name);
}

Result<Lines> Write(const NoteOptions& options, const FoundSweep& sweep, const LabelChange& change,
                    const Clock& clock, const WaitFunction& wait) {
  const Instant give_up_at = clock.Now() + kHolderPatience;
  for (;;) {
    Result<Lines> lines = WriteLabels(options.db_path, sweep, change, clock, kAnswerPatience);
    const bool may_change = lines.status().code() == StatusCode::kUnavailable;
    if (!may_change || clock.Now() >= give_up_at || !wait(kLookAgainEvery)) return lines;
  }
}

// What runs goes on; nothing is to be resumed.
Status NotWritten(const std::string& db_path, const Status& status) {
  if (status.code() != StatusCode::kResourceExhausted) return status;
  return ResourceExhausted("nothing was written: the disk of " + db_path + " is full");
}

}  // namespace

Result<LabelChange> ReadLabels(const std::optional<std::string>& note,
                               const std::vector<std::string>& tags) {
  LabelChange change;
  change.note = note;
  for (const std::string& text : tags) {
    TUNE_ASSIGN_OR_RETURN(auto tag, ReadTag(text));
    if (!change.tags.insert(std::move(tag)).second) {
      return InvalidArgument("tag: read " + Printable(text.substr(0, text.find('='))) +
                             " twice, expected it once");
    }
  }
  return change;
}

Result<SweepLabels> FirstLabels(const std::optional<std::string>& note,
                                const std::vector<std::string>& tags) {
  TUNE_ASSIGN_OR_RETURN(const LabelChange change, ReadLabels(note, tags));
  return Changed({}, change);
}

Result<Lines> WriteLabels(const std::string& db_path, const FoundSweep& sweep,
                          const LabelChange& change, const Clock& clock, Duration patience) {
  const std::optional<LockHolder> holder = FindLockHolder(db_path);
  if (!holder) {
    TUNE_RETURN_IF_ERROR(MayChangeAlone());
    TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<SqliteStore> store,
                          SqliteStore::Open(db_path, Access::kWrite, clock.Now()));
    ControlRequest request;
    request.verb = ControlVerb::kNote;
    request.sweep = sweep.name;
    request.by = AsksFor();
    request.labels = change;
    TUNE_ASSIGN_OR_RETURN(const int64_t record,
                          store->RecordChange(ChangeOf(request, clock.Now())));
    const Result<SweepLabels> labels = store->Label(sweep.name, change);
    if (!labels.ok()) (void)store->ForgetChange(record);
    TUNE_RETURN_IF_ERROR(NotWritten(db_path, labels.status()));
    return LabelLines(sweep.name, *labels);
  }
  ControlRequest request;
  request.verb = ControlVerb::kNote;
  request.tuner = holder->pid;
  request.sweep = sweep.name;
  request.labels = change;
  Result<ControlAnswer> answer = AskTuner(ArtifactsDirOf(db_path), request, clock, patience);
  if (answer.status().code() == StatusCode::kNotFound) {
    return Unavailable(db_path + ": is held by " + DescribeHolder(*holder) +
                       ", which takes no commands at " + ArtifactsDirOf(db_path) + "/control.sock");
  }
  if (!answer.ok()) return answer.status().At(DescribeHolder(*holder));
  // It was about to end; its database can be written without it.
  if (answer->status.code() == StatusCode::kFailedPrecondition) {
    return Unavailable(answer->status.message());
  }
  TUNE_RETURN_IF_ERROR(NotWritten(db_path, answer->status));
  return std::move(answer->lines);
}

int NoteCommand(const NoteOptions& options, const Clock& clock, const WaitFunction& wait,
                std::ostream& out, std::ostream& err) {
  const Result<LabelChange> change = ReadChange(options);
  if (!change.ok()) return Complain(change.status(), err);
  const Result<FoundSweep> sweep = Find(options);
  if (!sweep.ok()) return Complain(sweep.status(), err);
  Result<Lines> lines = LabelLines(sweep->name, sweep->labels);
  if (!change->empty()) lines = Write(options, *sweep, *change, clock, wait);
  if (!lines.ok()) return Complain(lines.status(), err);
  for (const std::string& line : *lines) out << Printable(line) << "\n";
  return 0;
}

}  // namespace tune
