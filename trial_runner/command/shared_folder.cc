#include "trial_runner/command/shared_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "core/hash.h"
#include "core/posix/durable_file.h"
#include "core/posix/file_descriptor.h"
#include "core/posix/private_folder.h"
#include "core/utf8.h"
#include "trial_runner/command/listed_names.h"
#include "trial_runner/worker/process_tree.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr int kEntriesMax = 4'000;
constexpr size_t kChangedMax = 1'000;
constexpr int64_t kLookCpuMaxNs = 20'000'000;
constexpr int64_t kTailBytes = 4'096;
constexpr uint64_t kRecordBytesMax = 4u << 20;
constexpr uint64_t kComparedBytesMax = 1u << 20;

int64_t NanosecondsOf(const timespec& time) {
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

int64_t ReadClock(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return NanosecondsOf(time);
}

// ---- which files

bool IsOneOf(const std::string& name, auto& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool IsFolderLookedAt(const fs::path& path, const std::string& artifacts) {
  constexpr std::array<std::string_view, 6> kPassedOver = {
      "__pycache__", "node_modules", "site-packages", "wandb", "mlruns", "catboost_info"};
  const std::string name = path.filename().string();
  std::error_code ignored;
  return !name.starts_with('.') && !IsOneOf(name, kPassedOver) && !name.ends_with(".artifacts") &&
         !name.ends_with(".egg-info") && path != artifacts &&
         !fs::exists(path / "pyvenv.cfg", ignored);
}

// What people write while a sweep runs, what is a log or a picture, and what is made to be shared.
bool IsFileLookedAt(const std::string& name) {
  constexpr std::array<std::string_view, 46> kPassedOver = {
      ".py",   ".pyc",  ".ipynb", ".sh",   ".md",    ".rst",    ".c",      ".cc",
      ".cpp",  ".h",    ".hpp",   ".cu",   ".rs",    ".go",     ".java",   ".r",
      ".R",    ".jl",   ".js",    ".ts",   ".m",     ".lua",    ".pl",     ".rb",
      ".v",    ".sv",   ".tex",   ".png",  ".svg",   ".pdf",    ".jpg",    ".html",
      ".log",  ".lock", ".pid",   ".swp",  ".db",    ".db-wal", ".db-shm", ".db-journal",
      ".part", ".tmp",  ".bak",   ".orig", ".cache", ".sqlite"};
  const bool is_database = name.find(".sqlite") != std::string::npos;
  return !name.starts_with('.') && !name.ends_with('~') && !is_database && IsUtf8(name) &&
         !IsOneOf(fs::path(name).extension().string(), kPassedOver);
}

// Where this process and those above it write what they say: `tune run > out.txt` writes there, and
// no trial does, although a shell truncates it at each resume.
FileIdentities OutputsAbove() {
  constexpr int kProcessesMax = 8;
  FileIdentities outputs;
  std::optional<pid_t> pid = getpid();
  for (int i = 0; i < kProcessesMax && pid && *pid > 1; ++i) {
    const std::string process = "/proc/" + std::to_string(*pid);
    for (const char* const fd : {"/fd/1", "/fd/2"}) {
      struct stat info;
      if (stat((process + fd).c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
        outputs.insert({info.st_dev, info.st_ino});
      }
    }
    pid = LivingParentOf(*pid);
  }
  return outputs;
}

// The last bytes before `end`; empty: the file cannot be read.
std::string TailHash(const std::string& path, int64_t end) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.is_open()) return "";
  const int64_t begin = std::max<int64_t>(0, end - kTailBytes);
  std::string bytes(static_cast<size_t>(end - begin), '\0');
  const ssize_t count = pread(file.get(), bytes.data(), bytes.size(), begin);
  if (count != static_cast<ssize_t>(bytes.size())) return "";
  return HashToHex(Xxh64(bytes));
}

// Of one file that the record may know. Nothing: it has not changed.
std::optional<SeenFile> LookAtFile(const std::string& path, const std::string& name,
                                   const FileIdentities& outputs, const FolderRecord& record) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  if (outputs.contains({info.st_dev, info.st_ino})) return std::nullopt;
  SeenFile seen{name, info.st_ino, info.st_size, NanosecondsOf(info.st_mtim), false, ""};
  const auto known = record.files().find(name);
  if (known == record.files().end()) {
    if (NanosecondsOf(info.st_ctim) < record.begun_ns()) return std::nullopt;
  } else {
    const FolderRecord::File& file = known->second;
    if (file.inode == seen.inode && file.bytes == seen.bytes &&
        file.modified_ns == seen.modified_ns) {
      return std::nullopt;
    }
    seen.has_only_grown = file.inode == seen.inode && seen.bytes > file.bytes &&
                          !file.tail.empty() && TailHash(path, file.bytes) == file.tail;
  }
  seen.tail = TailHash(path, seen.bytes);
  return seen;
}

// Nothing: there is too much to look at.
std::optional<std::vector<SeenFile>> LookAt(const std::string& folder, const std::string& artifacts,
                                            const FileIdentities& outputs,
                                            const FolderRecord& record) {
  const int64_t begin_ns = ReadClock(CLOCK_THREAD_CPUTIME_ID);
  std::vector<SeenFile> changed;
  std::error_code error;
  int count = 0;
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    constexpr int kClockPause = 64;
    if (++count > kEntriesMax || changed.size() > kChangedMax) return std::nullopt;
    const bool looks_at_clock = count % kClockPause == 0;
    if (looks_at_clock && ReadClock(CLOCK_THREAD_CPUTIME_ID) - begin_ns > kLookCpuMaxNs) {
      return std::nullopt;
    }
    std::error_code ignored;
    if (it->is_symlink(ignored)) continue;
    if (it->is_directory(ignored)) {
      if (!IsFolderLookedAt(it->path(), artifacts)) it.disable_recursion_pending();
      continue;
    }
    const std::string path = it->path().string();
    if (!it->is_regular_file(ignored) || !IsFileLookedAt(it->path().filename().string())) continue;
    const std::string name = path.substr(std::min(path.size(), folder.size() + 1));
    if (!IsUtf8(name)) continue;
    if (auto seen = LookAtFile(path, name, outputs, record)) changed.push_back(*std::move(seen));
  }
  return changed;
}

// ---- the record's file

// Empty: there can be none. The process numbers in it are those of one machine, or container.
std::string RecordFileOf(const std::string& folder) {
  struct stat info;
  if (stat(folder.c_str(), &info) != 0) return "";
  std::error_code error;
  const std::string processes = fs::read_symlink("/proc/self/ns/pid", error).string();
  const std::string place = "/tmp/tune-" + std::to_string(geteuid());
  if (!MakePrivateFolder(place).ok() || !MakePrivateFolder(place + "/folders").ok()) return "";
  const std::string key =
      std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino) + ":" + processes;
  return place + "/folders/" + HashToHex(Xxh64(key));
}

std::string HashOfFile(const std::string& path) {
  const Result<std::string> text = ReadFile(path, kComparedBytesMax);
  return text.ok() ? HashToHex(Xxh64(*text)) : "";
}

// Whether a number in it has so many digits that two configurations would hardly both have it.
bool HasLongNumber(const std::string& path) {
  constexpr int kDigitsMin = 6;
  const Result<std::string> text = ReadFile(path, kComparedBytesMax);
  int digits = 0;
  for (const char c : text.ok() ? *text : std::string()) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && c != '.') digits = 0;
    if (is_digit && (c != '0' || digits > 0) && ++digits >= kDigitsMin) return true;
  }
  return false;
}

bool IsAlive(int64_t process) {
  return kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM;
}

// In place: ext4 makes a writer wait for the disk that truncates a file first.
void Rewrite(const FileDescriptor& file, const std::string& text) {
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = pwrite(file.get(), text.data() + written, text.size() - written,
                                 static_cast<off_t>(written));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;  // A full disk: what is torn is no record to the next reader.
    written += static_cast<size_t>(count);
  }
  (void)!ftruncate(file.get(), static_cast<off_t>(written));
}

// Reads the record, lets `change` change it, and writes it, while all others wait.
void WithRecord(const std::string& path, const FolderMember& member,
                const std::function<void(FolderRecord&)>& change) {
  const FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) return;
  while (flock(file.get(), LOCK_EX) != 0) {  // Of some milliseconds at most.
    if (errno != EINTR) return;
  }
  const Result<std::string> text = ReadFile(path, kRecordBytesMax);
  Result<FolderRecord> record = text.ok() ? FolderRecord::Parse(*text) : text.status();
  for (const int64_t process : record.ok() ? record->processes() : std::set<int64_t>()) {
    if (!IsAlive(process)) record->OnGone(process);
  }
  const bool is_torn = !record.ok() && !(text.ok() && text->empty());
  if (!record.ok() || record->IsOver(member)) record = FolderRecord(ReadClock(CLOCK_REALTIME));
  if (is_torn) record->GiveUp();  // Who else runs here is not known.
  change(*record);
  Rewrite(file, record->Encode());
}

void Look(const std::string& folder, const FolderMember& member, const FileIdentities& outputs,
          FolderRecord& record) {
  constexpr int64_t kCostShare = 20;              // A look takes at most a twentieth of the time.
  constexpr int64_t kPauseMaxNs = 1'000'000'000;  // The clock of a boot before is another one.
  const int64_t pause_ns = record.next_look_ns() - ReadClock(CLOCK_MONOTONIC);
  if (record.has_given_up() || (pause_ns > 0 && pause_ns < kPauseMaxNs)) return;
  const int64_t begin_ns = ReadClock(CLOCK_THREAD_CPUTIME_ID);
  const std::string artifacts = fs::path(member.sweep).parent_path().string();
  if (const auto changed = LookAt(folder, artifacts, outputs, record)) {
    record.OnLook(*changed);
  } else {
    record.GiveUp();
  }
  const int64_t cost_ns = ReadClock(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
  record.DelayLook(ReadClock(CLOCK_MONOTONIC) + kCostShare * cost_ns);
}

}  // namespace

SharedFolder::SharedFolder(std::string folder, const std::string& artifact_dir,
                           const std::vector<std::string>& metric_files, std::string config)
    : folder_(std::move(folder)), config_(HashToHex(Xxh64(config))) {
  member_.trial = artifact_dir;
  member_.sweep = fs::path(artifact_dir).parent_path().string();
  member_.process = getpid();
  for (const std::string& file : metric_files) {
    member_.metric_files.push_back((fs::path(folder_) / file).lexically_normal().string());
  }
  record_file_ = RecordFileOf(folder_);
  outputs_ = OutputsAbove();
}

void SharedFolder::Begin() {
  for (const std::string& file : member_.metric_files) contents_before_.push_back(HashOfFile(file));
  if (record_file_.empty()) return;
  WithRecord(record_file_, member_, [&](FolderRecord& record) {
    record.OnGone(member_.process);  // It runs one trial at a time.
    Look(folder_, member_, outputs_, record);
    record.OnBegin(member_);
  });
}

std::vector<std::string> SharedFolder::End(bool has_values) {
  std::vector<std::string> notes;
  if (record_file_.empty()) return notes;
  WithRecord(record_file_, member_, [&](FolderRecord& record) {
    const std::optional<FolderRecord::Rival> rival = record.RivalOf(member_.trial);
    record.OnEnd(member_.trial);
    Look(folder_, member_, outputs_, record);
    if (!has_values) return;
    if (rival && rival->sweep == member_.sweep) {
      notes.push_back(
          "metrics of several trials: another trial ran at the same time and has its "
          "values from " +
          ToUtf8(rival->file) +
          ", too: this value may be its; write {tune.dir}, the trial's own folder, into "
          "the file's path and into the command, or set limits: {max_concurrent: 1}");
    } else if (rival) {
      notes.push_back("metrics of two sweeps: trials of " + ToUtf8(rival->sweep) +
                      " have their values from " + ToUtf8(rival->file) +
                      ", too, and ran at the same time: this value may be theirs; write "
                      "{tune.dir}, the trial's own folder, into the file's path and into the "
                      "command");
    }
    TellContent(record, notes);
    std::vector<std::string> shared = record.TakeShared(member_.sweep);
    std::erase_if(shared, [&](const std::string& name) {
      return IsOneOf((fs::path(folder_) / name).lexically_normal().string(), member_.metric_files);
    });
    if (shared.empty()) return;
    notes.push_back("shared files: several trials wrote " + ListedNames(shared) +
                    " in the working folder: the last one's stays, and a trial that reads it may "
                    "read another's; let each write to {tune.dir}/" +
                    fs::path(shared.front()).filename().string() +
                    " (TUNE_DIR, in Python tune.folder())");
  });
  return notes;
}

// A file that was only touched looks fresh, and has the value of the trial that wrote it.
void SharedFolder::TellContent(FolderRecord& record, std::vector<std::string>& notes) const {
  for (size_t i = 0; i < member_.metric_files.size(); ++i) {
    const std::string& file = member_.metric_files[i];
    const std::string content = HashOfFile(file);
    if (content.empty() || !HasLongNumber(file)) continue;
    const std::string other = record.OnMetricFile(file, {content, member_.trial, config_});
    if (other.empty() || content != contents_before_[i]) continue;
    notes.push_back("another trial's value: " + ToUtf8(fs::path(file).filename().string()) +
                    " holds the same bytes as for trial " + fs::path(other).filename().string() +
                    ", which had another configuration, and they were there before this attempt "
                    "began: the program may have kept them");
  }
}

}  // namespace tune
