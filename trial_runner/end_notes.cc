#include "trial_runner/end_notes.h"

#include "core/limits.h"

namespace tune {
namespace {
constexpr std::string_view kNextNote = "; note: ";  // A line has no line ends.

}  // namespace

std::string WithEndNote(Outcome outcome, const std::string& error, std::string_view note) {
  if (note.empty() || (outcome != Outcome::kCompleted && outcome != Outcome::kStopped)) {
    return error;
  }
  const std::string_view before = !error.empty()                 ? kNextNote
                                  : outcome == Outcome::kStopped ? kEndNote
                                                                 : std::string_view();
  std::string longer = error + std::string(before) + std::string(note);
  return longer.size() > limits::kErrorBytesMax ? error : longer;
}

std::vector<std::string> EndNotesOf(Outcome outcome, std::string_view error) {
  const bool has_notes = outcome == Outcome::kCompleted ||
                         (outcome == Outcome::kStopped && error.starts_with(kEndNote));
  if (!has_notes || error.empty()) return {};
  if (outcome == Outcome::kStopped) error.remove_prefix(kEndNote.size());
  std::vector<std::string> notes;
  while (true) {
    const size_t end = error.find(kNextNote);
    notes.emplace_back(error.substr(0, end));
    if (end == std::string_view::npos) return notes;
    error.remove_prefix(end + kNextNote.size());
  }
}

}  // namespace tune
