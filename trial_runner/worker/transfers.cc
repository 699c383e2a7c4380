#include "trial_runner/worker/transfers.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "core/counted.h"
#include "core/limits.h"
#include "core/posix/durable_file.h"
#include "core/posix/nameless_file.h"
#include "core/posix/threads.h"
#include "core/remove_tree.h"
#include "trial_runner/checkpoint_name.h"
#include "trial_runner/package/trial_files.h"

namespace tune {
namespace {

Status GivenUp() { return Unavailable("the worker needs it no longer"); }

Status PutTrialFiles(CheckpointLink& link, const AttemptRef& ref, const FolderText& text,
                     const std::stop_token& stop) {
  return PutText(link, {ref, std::string(kTrialFiles), text.name()}, text, stop).status();
}

// What is called as a checkpoint of ours is not sent, whosever it is: said, where it is the
// program's. Empty: there is none.
std::string NoteOfLikeNamed(const std::string& folder) {
  std::string names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!IsOwnCheckpoint(name) || IsOwnCheckpointAt(it->path())) continue;
    names += (names.empty() ? "" : ", ") + name;
  }
  if (names.empty()) return "";
  return "tune: " + names +
         " did not go to the tuner: such names are for checkpoints of tune's own; "
         "give it another one";
}

// Where the files lie that the tuner does not have, for the attempt's log.
std::string KeptHere(const AttemptRef& ref, const std::string& folder, const Status& why) {
  const std::string label =
      std::to_string(ref.attempt.value) + "-" + std::to_string(ref.epoch.value);
  const Result<std::string> aside = PutTrialFilesAside(folder, label);
  return "tune: what this attempt left in its folder did not come to the tuner: " + why.message() +
         (aside.ok() ? "; it stays on this worker's machine, in " + *aside
                     : "; it could not be kept: " + aside.status().message());
}

// A line for the attempt's log where the trouble lies in the files, or in the folder that a program
// of the trial's may have shaped: the attempt can begin without them.
Result<std::string> LineUnlessFatal(const Status& status) {
  if (status.ok()) return std::string();
  const bool is_fatal = status.code() == StatusCode::kFailedPrecondition ||
                        status.code() == StatusCode::kResourceExhausted;
  if (is_fatal) return status;
  return "tune: what earlier attempts left in the trial's folder did not come here: " +
         status.message();
}

}  // namespace

bool TransferPauses::Wait() {
  const Duration pause = Milliseconds(pause_ms_);
  pause_ms_ = std::min(2 * pause_ms_, limits::kReconnectMsMax);
  return WaitUnlessStopped(pause, stop_);
}

bool IsWorthAnotherTry(const Status& status, int& wrong_count) {
  return status.code() == StatusCode::kDataLoss && ++wrong_count < limits::kCheckpointTriesMax;
}

Result<std::string> PutText(CheckpointLink& link, const PutCheckpoint& put,
                            const PackageSource& text, const std::stop_token& stop) {
  TransferPauses pauses(stop);
  for (int wrong_count = 0;;) {
    Result<std::string> path = link.Put(put, text, stop);
    if (path.ok()) return path;
    if (stop.stop_requested()) return GivenUp();
    if (IsWorthAnotherTry(path.status(), wrong_count)) continue;
    if (path.status().code() != StatusCode::kUnavailable) return path;
    if (!pauses.Wait()) return GivenUp();
  }
}

Result<IncomingText> GetText(CheckpointLink& link, const AttemptRef& ref, const std::string& path,
                             const std::string& parent, const std::stop_token& stop) {
  TUNE_RETURN_IF_ERROR(MakeFolderSynced(parent));
  std::optional<IncomingText> text;
  const auto begin = [&](const PackageName& name) -> Status {
    if (text) return text->name() == name ? OkStatus() : DataLoss("the tuner has another one now");
    TUNE_ASSIGN_OR_RETURN(FileDescriptor file, OpenNamelessFile(parent));
    TUNE_ASSIGN_OR_RETURN(IncomingText begun, IncomingText::Begin(name, std::move(file), parent));
    text.emplace(std::move(begun));
    return OkStatus();
  };
  TransferPauses pauses(stop);
  while (true) {
    const int64_t offset = text ? text->offset() : 0;
    const Status got =
        link.Get({ref, path, offset},
                 {begin, [&text](std::string_view piece) { return text->Append(piece); }}, stop);
    if (got.ok()) return *std::move(text);
    if (stop.stop_requested()) return GivenUp();
    if (got.code() != StatusCode::kUnavailable) return got;
    if (text && text->offset() > offset) pauses.Restart();
    if (!pauses.Wait()) return GivenUp();
  }
}

std::string SendTrialFiles(CheckpointLink& link, const AttemptRef& ref, const std::string& folder,
                           bool began_without, const std::stop_token& stop) {
  std::string note = NoteOfLikeNamed(folder);
  if (!HasTrialFiles(folder)) return note;
  if (began_without) {
    const std::string name = "attempt_" + std::to_string(ref.attempt.value) + "_files";
    const Status put = PutTrialFilesApart(folder, name);
    if (!put.ok()) return KeptHere(ref, folder, put);
    note += (note.empty() ? "" : "\n");
    note += "tune: what this attempt left in its folder is at the tuner in " + name +
            ", and takes the place of nothing that earlier ones left";
  }
  for (int wrong_count = 0;;) {
    const Result<FolderText> text = TextOfTrialFiles(folder);
    Status sent = text.status();
    if (sent.code() == StatusCode::kUnavailable) sent = DataLoss(sent.message());  // It changed.
    if (text.ok() && !text->is_empty()) sent = PutTrialFiles(link, ref, *text, stop);
    if (stop.stop_requested()) return "";
    // Something of the program's may still be at work.
    if (IsWorthAnotherTry(sent, wrong_count)) continue;
    if (!sent.ok()) return KeptHere(ref, folder, sent);
    if (text->passed_over() == 0) return note;
    return (note.empty() ? "" : note + "\n") + "tune: " + Counted(text->passed_over(), "link") +
           " in this attempt's folder did not go to the tuner (links and sockets stay)";
  }
}

Result<std::string> ObtainTrialFiles(CheckpointLink& link, const AttemptRef& ref,
                                     const std::string& path, const std::string& folder,
                                     const std::stop_token& stop) {
  for (int wrong_count = 0;;) {
    Result<IncomingText> text = GetText(link, ref, path, folder, stop);
    if (!text.ok() && text.status().code() == StatusCode::kNotFound) return std::string();
    const Result<std::string> came =
        text.ok() ? text->Unpack(folder, std::string(kTrialFilesIncoming)) : text.status();
    if (stop.stop_requested()) return GivenUp();
    if (IsWorthAnotherTry(came.status(), wrong_count)) continue;
    if (came.status().code() == StatusCode::kDataLoss) return came.status();
    if (!came.ok()) return LineUnlessFatal(came.status());
    const Status moved = MoveTrialFiles(*came, folder);
    std::error_code ignored;
    RemoveTree(*came, ignored);
    return LineUnlessFatal(moved);
  }
}

}  // namespace tune
