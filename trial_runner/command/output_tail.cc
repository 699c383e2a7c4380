#include "trial_runner/command/output_tail.h"

#include <algorithm>
#include <cctype>

#include "core/utf8.h"

namespace tune {
namespace {

constexpr size_t kShownMax = 300;
constexpr std::string_view kNameCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";

}  // namespace

std::string ShownLine(std::string_view line) {
  return ToUtf8(line.substr(0, kShownMax)) + (line.size() > kShownMax ? "..." : "");
}

void OutputTail::Add(std::string_view piece) {
  piece = piece.substr(piece.size() - std::min(piece.size(), kBytesMax));
  text_ += piece;
  // Seldom, so that each byte is moved once.
  if (text_.size() <= 2 * kBytesMax) return;
  const size_t erased = text_.size() - kBytesMax;
  text_.erase(0, erased);
  marked_ -= std::min(marked_, erased);
}

std::string OutputTail::LastLine() const {
  std::string_view rest = text_;
  while (!rest.empty()) {
    const size_t begin = rest.find_last_of("\r\n");
    const std::string_view line = begin == std::string_view::npos ? rest : rest.substr(begin + 1);
    rest = begin == std::string_view::npos ? std::string_view() : rest.substr(0, begin);
    const size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos) continue;
    return ShownLine(line.substr(first, line.find_last_not_of(" \t") - first + 1));
  }
  return "";
}

namespace {

// The line at the front of `text`, which loses it.
std::string_view TakeLine(std::string_view& text) {
  const size_t end = std::min(text.find_first_of("\r\n"), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

bool IsBlankLine(std::string_view line) { return line.find_first_not_of(" \t") == line.npos; }

// "ValueError: no" and "KeyboardInterrupt", which end a traceback.
bool IsException(std::string_view line) {
  const size_t name = line.find_first_of(": ");
  const std::string_view type = line.substr(0, name);
  const bool is_type = !type.empty() && type.find_first_not_of(kNameCharacters) == type.npos &&
                       (name == std::string_view::npos || line[name] == ':');
  return is_type &&
         (type.ends_with("Error") || type.ends_with("Exception") || type.ends_with("Interrupt") ||
          type.ends_with("Exit") || type.find('.') != type.npos);
}

// A module that is optional: where it was needed, the program did not come this far.
bool IsOfImport(std::string_view line) {
  return line.starts_with("ModuleNotFoundError") || line.starts_with("ImportError");
}

// "Training failed: no data", but not "Mean squared error: 0.5".
bool SaysThatItFailed(std::string_view line) {
  const size_t colon = line.find(": ");
  if (colon == std::string_view::npos) return false;
  std::string_view said = line.substr(colon + 2);
  said.remove_prefix(std::min(said.find_first_not_of(" \t"), said.size()));
  const std::string_view before = line.substr(0, colon);
  const size_t space = before.find_last_of(" \t[");
  std::string word(before.substr(space == before.npos ? 0 : space + 1));
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::string_view kNumberBeginnings = "0123456789.+-[({";
  const bool is_value = IsBlankLine(said) || kNumberBeginnings.find(said.front()) != said.npos ||
                        said.starts_with("nan") || said.starts_with("inf");
  return !is_value && (word == "failed" || word == "error" || word == "exception" ||
                       word == "aborted" || word == "fatal");
}

// What a program raises whose own program failed.
bool IsOfAnotherProgram(std::string_view line) {
  const std::string_view type = line.substr(0, line.find(':'));
  return type.ends_with("CalledProcessError") || type.ends_with("ChildFailedError");
}

constexpr std::string_view kTraceback = "Traceback (most recent call last)";
constexpr int kLinesBehindMax = 5;  // That do not make an exception an old one.

bool BeginsWithAny(std::string_view line, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [line](std::string_view beginning) { return line.starts_with(beginning); });
}

// A line that tells no cause: what R, Node.js, Rust, `go run`, make, srun and `conda run` end with,
// a frame of dashes, and the places of a stack of Java's, JavaScript's, Julia's or Go's.
bool StandsBehindCause(std::string_view line) {
  const bool has_words =
      std::any_of(line.begin(), line.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
  return !has_words || line.find(" +0x") != std::string_view::npos ||
         BeginsWithAny(line, {"Execution halted", "Node.js v", "note: run with `RUST_BACKTRACE=",
                              "exit status ", "at ", "... ", "in expression starting at ", "@ ",
                              "make: ***", "srun: error: ", "ERROR conda.cli.main_run"});
}

bool IsCause(std::string_view line) {
  const std::string_view type = line.substr(0, line.find(':'));
  const bool is_error = type.ends_with("Error") || type.ends_with("Exception");
  return (is_error && IsException(line)) ||
         BeginsWithAny(line, {"Error in ", "Error: ", "ERROR: ", "Exception in thread ",
                              "Caused by: ", "thread '", "panic: ", "fatal error: "});
}

// The last line of the traceback at the front of `text`, and what stands behind it.
struct Raised {
  std::string_view line;
  std::string_view behind;
};
Raised RaisedIn(std::string_view text) {
  TakeLine(text);
  std::string_view line;  // The lines of a traceback are indented but for its last.
  do {
    line = TakeLine(text);
  } while (!text.empty() && (IsBlankLine(line) || line.front() == ' ' || line.front() == '\t'));
  return {line, text};
}

int CountLines(std::string_view text) {
  int count = 0;
  while (!text.empty()) count += IsBlankLine(TakeLine(text)) ? 0 : 1;
  return count;
}

// "Error(s) in loading state_dict for Net:" goes on in the next line.
std::string WithNextLine(std::string_view line, std::string_view behind) {
  std::string text(line);
  if (!line.ends_with(':')) return text;
  while (!behind.empty()) {
    const std::string_view next = TakeLine(behind);
    if (!IsBlankLine(next))
      return text + " " + std::string(next.substr(next.find_first_not_of(" \t")));
  }
  return text;
}

}  // namespace

std::string OutputTail::Cause() const {
  std::string cause;
  int behind = 0;
  for (size_t at = text_.find(kTraceback, marked_); at != std::string::npos;
       at = text_.find(kTraceback, at + 1)) {
    const Raised raised = RaisedIn(std::string_view(text_).substr(at));
    if (!IsException(raised.line)) continue;
    const bool is_of_another = !cause.empty() && IsOfAnotherProgram(raised.line);
    behind = is_of_another ? 0 : CountLines(raised.behind);  // torchrun's goes on for a page.
    if (is_of_another) continue;
    cause = ShownLine(WithNextLine(raised.line, raised.behind));
  }
  if (!cause.empty() && behind <= kLinesBehindMax) return cause;
  const std::string last = LastLine();
  if (!StandsBehindCause(last)) return last;
  const std::string above = CauseAbove();
  return above.empty() ? last : above;
}

// The last line of an error of any language, else the last that tells anything.
std::string OutputTail::CauseAbove() const {
  std::string cause;
  std::string_view telling;
  for (std::string_view rest = std::string_view(text_).substr(marked_); !rest.empty();) {
    const std::string_view line = TakeLine(rest);
    if (IsBlankLine(line)) continue;
    const std::string_view words = line.substr(line.find_first_not_of(" \t"));
    if (!StandsBehindCause(words)) telling = words;
    // What Rust says stands below where.
    if (IsCause(line)) cause = ShownLine(WithNextLine(line, rest));
  }
  return cause.empty() ? ShownLine(telling) : cause;
}

OutputTail::Complaint OutputTail::LastComplaint() const {
  const size_t traceback = text_.rfind(kTraceback);
  if (traceback != std::string::npos && traceback >= marked_) {
    const auto [line, behind] = RaisedIn(std::string_view(text_).substr(traceback));
    if (IsException(line) && !IsOfImport(line) && CountLines(behind) <= kLinesBehindMax) {
      return {ShownLine(line), std::string(behind)};
    }
  }
  constexpr int kLinesBehindFailedMax = 2;  // "done", and where the log is.
  Complaint complaint;
  for (std::string_view rest = std::string_view(text_).substr(marked_); !rest.empty();) {
    const std::string_view line = TakeLine(rest);
    if (SaysThatItFailed(line)) complaint = {ShownLine(line), std::string(rest)};
  }
  return CountLines(complaint.behind) <= kLinesBehindFailedMax ? complaint : Complaint{};
}

bool OutputTail::HoldsAny(std::initializer_list<std::string_view> texts) const {
  return std::any_of(texts.begin(), texts.end(), [this](std::string_view text) {
    return text_.find(text) != std::string::npos;
  });
}

bool OutputTail::SpeaksOfDeviceMemory() const {
  return HoldsAny({"CUDA out of memory", "CUDA error: out of memory", "cudaErrorMemoryAllocation",
                   "CUDA_ERROR_OUT_OF_MEMORY", "CUBLAS_STATUS_ALLOC_FAILED",
                   "OutOfMemoryError: HIP", "OOM when allocating tensor"});
}

bool OutputTail::SpeaksOfMemory() const {
  return HoldsAny({"\nMemoryError", "std::bad_alloc", "DefaultCPUAllocator: can't allocate memory",
                   "DefaultCPUAllocator: not enough memory"});
}

bool OutputTail::SpeaksOfLostRank() const {
  return HoldsAny({"Connection closed by peer", "Connection reset by peer", "Broken pipe",
                   "Connection refused", "connection refused", "ncclRemoteError",
                   "Gloo connectFullMesh failed",
                   "remote process exited or there was a network error", "DistNetworkError",
                   "DistStoreError"}) ||
         SpeaksOfVainWait();
}

bool OutputTail::SpeaksOfVainWait() const {
  return HoldsAny({"Timed out initializing process group", "client socket has timed out",
                   "seconds waiting for clients", "Timed out waiting", "ms for recv operation",
                   "ms for send operation", "Wait timeout", "Socket Timeout"});
}

bool OutputTail::SpeaksOfPort(int64_t port) const {
  return HoldsAny({"Address already in use", "address already in use", "EADDRINUSE"}) &&
         HoldsAny({":" + std::to_string(port)});
}

bool OutputTail::SpeaksOfFullDisk() const {
  return HoldsAny({"No space left on device", "Disk quota exceeded"});
}

bool OutputTail::SpeaksOfReadOnlyDisk() const {
  constexpr std::string_view kReadOnly = "Read-only file system";
  return LastComplaint().line.find(kReadOnly) != std::string::npos ||
         LastLine().find(kReadOnly) != std::string::npos;
}

}  // namespace tune
