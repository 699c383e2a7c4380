#include "tuner/engines/worker_programs.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>

#include "core/hash.h"
#include "core/posix/durable_file.h"
#include "core/posix/file_descriptor.h"
#include "core/posix/file_hash.h"
#include "core/posix/read_bytes.h"
#include "tuner/engines/program_call.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

// tune is what trials report with; the others run where they are there.
constexpr const char* kPrograms[] = {"tune_worker", "tune", "tune_trial", "tune_trial_command",
                                     "tune_trial_food11"};
constexpr char kLibraries[] = "lib";
constexpr Duration kPackPatience = Seconds(300);

// These belong to the machine: its C library, and its graphics driver.
bool IsTheMachines(const std::string& name) {
  for (const char* const beginning :
       {"libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "libresolv.so", "libutil.so",
        "libnsl.so", "libanl.so", "ld-linux", "linux-vdso", "libcuda.so", "libnvidia",
        "libBrokenLocale.so", "libmvec.so", "libthread_db.so"}) {
    if (name.starts_with(beginning)) return true;
  }
  return false;
}

// Of ldd's lines "NAME => PATH (0x...)".
Status AddLibraries(const std::string& program, std::map<std::string, std::string>& libraries,
                    const std::atomic<bool>& is_cancelled) {
  ProgramCall call;
  call.words = {"ldd", program};
  TUNE_ASSIGN_OR_RETURN(const CallAnswer answer, CallProgram(call, is_cancelled));
  if (!answer.is_good()) return FailedPrecondition("ldd " + program + ": " + answer.Reason());
  for (size_t begin = 0; begin < answer.out.size();) {
    const size_t end = std::min(answer.out.find('\n', begin), answer.out.size());
    const std::string line = answer.out.substr(begin, end - begin);
    begin = end + 1;
    const size_t arrow = line.find(" => ");
    if (arrow == std::string::npos) continue;
    const size_t first = line.find_first_not_of(" \t");
    const std::string name = line.substr(first, arrow - first);
    if (IsTheMachines(name)) continue;
    const std::string path = line.substr(arrow + 4, line.find(" (", arrow) - arrow - 4);
    if (path == "not found") return FailedPrecondition(program + ": " + name + " is not found");
    libraries[name] = path;
  }
  return OkStatus();
}

// What programs in Python report with.
void AddModule(const std::string& program_dir, std::map<std::string, std::string>& files) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(program_dir + "/python/tune", error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".py")) files["python/tune/" + name] = entry.path().string();
  }
}

bool ReadNumber(std::string_view& text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

std::string VersionText(std::pair<int, int> version) {
  return std::to_string(version.first) + "." + std::to_string(version.second);
}

// `files`: what lies where in it, and comes from where.
Status MakeArchive(const std::string& archive, const std::map<std::string, std::string>& files,
                   const std::string& folder, const std::atomic<bool>& is_cancelled) {
  const std::string staging = folder + "/programs.new";
  std::error_code error;
  fs::remove_all(staging, error);
  TUNE_RETURN_IF_ERROR(MakeFolderSynced(staging + "/" + kLibraries));
  TUNE_RETURN_IF_ERROR(MakeFolderSynced(staging + "/python/tune"));
  for (const auto& [name, path] : files) {
    TUNE_RETURN_IF_ERROR(CopyFile(path, staging + "/" + name, /*is_synced=*/false));
    fs::permissions(staging + "/" + name, fs::perms::owner_all, error);
  }
  ProgramCall call;
  call.words = {"tar", "-C", staging, "-cf", archive + ".new", "."};
  call.patience = kPackPatience;
  TUNE_ASSIGN_OR_RETURN(const CallAnswer answer, CallProgram(call, is_cancelled));
  fs::remove_all(staging, error);
  if (!answer.is_good()) return FailedPrecondition("tar: " + answer.Reason());
  const FileDescriptor made(open((archive + ".new").c_str(), O_RDONLY | O_CLOEXEC));
  if (!made.is_open() || fsync(made.get()) != 0) return ErrnoStatus("sync", archive);
  return RenameSynced(archive + ".new", archive);
}

}  // namespace

std::pair<int, int> GlibcNeeded(std::string_view bytes) {
  constexpr std::string_view kMark = "GLIBC_";
  std::pair<int, int> most;
  for (size_t at = 0; (at = bytes.find(kMark, at)) != std::string_view::npos;) {
    at += kMark.size();
    std::string_view rest = bytes.substr(at, 16);
    std::pair<int, int> version;
    if (!ReadNumber(rest, version.first) || !rest.starts_with('.')) continue;
    rest.remove_prefix(1);
    if (ReadNumber(rest, version.second)) most = std::max(most, version);
  }
  return most;
}

Status CheckMachine(const WorkerPrograms& programs, const std::string& machine,
                    const std::string& libc) {
  if (machine != programs.machine) {
    return FailedPrecondition("its processor is " + machine +
                              ", and the worker here is built for " + programs.machine +
                              "; install tune there and start tune worker by a "
                              "command engine");
  }
  constexpr std::string_view kGlibc = "glibc ";
  std::string_view rest = libc;
  std::pair<int, int> version;
  const bool is_glibc = rest.starts_with(kGlibc);
  if (is_glibc) rest.remove_prefix(kGlibc.size());
  const bool is_read = is_glibc && ReadNumber(rest, version.first) && rest.starts_with('.');
  if (is_read) rest.remove_prefix(1);
  if (!is_read || !ReadNumber(rest, version.second)) {
    return FailedPrecondition(
        "its C library is " + (libc.empty() ? "not glibc" : "'" + libc + "'") +
        "; the worker needs glibc " + VersionText(programs.glibc) + " or newer");
  }
  if (version >= programs.glibc) return OkStatus();
  return FailedPrecondition("its glibc is " + VersionText(version) + ", and the worker needs " +
                            VersionText(programs.glibc) + " or newer");
}

Result<WorkerPrograms> PackWorkerPrograms(const std::string& program_dir, const std::string& folder,
                                          const std::atomic<bool>& is_cancelled) {
  std::map<std::string, std::string>
      files;  // What lies where in the archive, and comes from where.
  std::map<std::string, std::string> libraries;
  for (const char* const program : kPrograms) {
    const std::string path = program_dir + "/" + program;
    if (access(path.c_str(), X_OK) != 0) continue;
    files[program] = path;
    TUNE_RETURN_IF_ERROR(AddLibraries(path, libraries, is_cancelled));
  }
  if (!files.contains("tune_worker")) {
    return NotFound(program_dir + "/tune_worker: there is no such program");
  }
  for (const auto& [name, path] : libraries) files[std::string(kLibraries) + "/" + name] = path;
  AddModule(program_dir, files);
  WorkerPrograms programs;
  std::string contents;
  for (const auto& [name, path] : files) {
    TUNE_ASSIGN_OR_RETURN(const FileHash hash, HashFile(path));
    contents += name + " " + HashToHex(hash.xxh64) + "\n";
    programs.glibc = std::max(programs.glibc, GlibcNeeded(ReadBytes(path)));
  }
  programs.hash = HashToHex(Xxh64(contents));
  utsname system{};
  uname(&system);
  programs.machine = system.machine;
  programs.archive = folder + "/programs-" + programs.hash + ".tar";
  // Pools pack on threads of their own, into one folder.
  static std::mutex packing;
  const std::lock_guard lock(packing);
  if (access(programs.archive.c_str(), R_OK) == 0) return programs;
  TUNE_RETURN_IF_ERROR(MakeArchive(programs.archive, files, folder, is_cancelled));
  return programs;
}

}  // namespace tune
