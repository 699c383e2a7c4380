#include "tuner/cli/keep/machine_check.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

#include "core/posix/durable_file.h"
#include "core/posix/environment.h"
#include "core/posix/nameless_file.h"
#include "core/posix/read_bytes.h"
#include "core/posix/real_clock.h"
#include "core/resource_text.h"
#include "trial_runner/devices/machine_devices.h"
#include "trial_runner/devices/mps_daemon.h"
#include "trial_runner/devices/process_numbers.h"
#include "tuner/cli/keep/cgroup_limits.h"
#include "tuner/cli/keep/program_output.h"
#include "tuner/cli/words/text_table.h"
#include "tuner/sqlite/database.h"
#include "tuner/sqlite/database_file.h"
#include "tuner/sqlite/schema.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr int kSyncCount = 50;
constexpr int64_t kSlowSyncUs = 20'000;
constexpr int64_t kNoDiskSyncUs = 20;  // No disk answers so soon.
constexpr int64_t kLittleSpace = 2'000'000'000;
constexpr int64_t kNoSpace = 50'000'000;
constexpr int64_t kLittleMemory = 1'000'000'000;
constexpr rlim_t kFewOpenFiles = 1024;
constexpr Instant kEarliest{1'704'067'200'000'000};  // 2024-01-01: an unset clock is before it.

std::string ErrnoText() { return std::strerror(errno); }

// A value of /proc/meminfo, in bytes.
int64_t MeminfoBytes(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + ":")) return std::atoll(line.c_str() + name.size() + 1) * 1024;
  }
  return 0;
}

Finding CheckCores(const CgroupLimits& limits) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool has_set = sched_getaffinity(0, sizeof set, &set) == 0;
  const int64_t online = sysconf(_SC_NPROCESSORS_ONLN);
  return JudgeCores(has_set ? CPU_COUNT(&set) : online, online, limits.cpus);
}

Findings CheckGpus() {
  const MachineDevices here = LookUpDevices();
  if (!here.warning.empty()) {
    return {Warning("gpus", here.warning, "install the driver's own libnvidia-ml.so.1")};
  }
  std::vector<DeviceReading> readings;
  for (const Device& device : here.visible) {
    const Result<DeviceReading> reading = here.inventory->Read(device);
    DeviceReading lost;
    lost.device = device.index;
    if (!reading.ok()) lost.lost = reading.status().message();
    readings.push_back(reading.ok() ? *reading : lost);
  }
  Findings findings = JudgeGpus(here.visible, readings);
  if (here.visible.empty()) {
    if (here.has_any) {
      findings.push_back(Warning("gpus", "CUDA_VISIBLE_DEVICES hides all", "unset it to use them"));
    }
    return findings;
  }
  findings.push_back(
      JudgeShares(RunsMps(EnvironmentText("CUDA_MPS_PIPE_DIRECTORY")), SeesAllProcesses()));
  return findings;
}

Finding CheckOpenFiles() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return Warning("open files", ErrnoText(), "");
  const std::string what = limit.rlim_cur == RLIM_INFINITY
                               ? "no limit"
                               : "at most " + std::to_string(limit.rlim_cur) + " a process";
  if (limit.rlim_cur >= kFewOpenFiles) return Ok("open files", what);
  return Warning("open files", what, "raise it with ulimit -n 4096");
}

// A listener and a connection to it, as a tuner and its local worker need.
Finding CheckLoopback() {
  const std::string remedy = "bring it up with ip link set lo up";
  const FileDescriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  if (!listener.is_open() || bind(listener.get(), any, length) != 0 ||
      listen(listener.get(), 1) != 0 || getsockname(listener.get(), any, &length) != 0) {
    return Problem("loopback", "cannot be listened on: " + ErrnoText(), remedy);
  }
  const FileDescriptor client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!client.is_open() || connect(client.get(), any, length) != 0) {
    return Problem("loopback", "cannot be connected to: " + ErrnoText(), remedy);
  }
  return Ok("loopback", "127.0.0.1 can be listened on and connected to");
}

Finding CheckClock(Instant now) {
  const std::string what = FormatInstant(now);
  if (now >= kEarliest) return Ok("clock", what);
  return Warning("clock", what + " is in the past", "set it; the database's times come from it");
}

// ---- the disk

// The times of some small syncs in the folder.
Result<std::vector<int64_t>> MeasureSyncs(const std::string& folder) {
  TUNE_ASSIGN_OR_RETURN(const FileDescriptor file, OpenNamelessFile(folder));
  const RealClock clock;
  const std::string page(4096, 'x');
  std::vector<int64_t> times;
  for (int i = 0; i < kSyncCount; ++i) {
    if (pwrite(file.get(), page.data(), page.size(), static_cast<off_t>(i * page.size())) < 0) {
      return ErrnoStatus("write in", folder);
    }
    const Instant before = clock.Now();
    if (fdatasync(file.get()) != 0) return ErrnoStatus("sync in", folder);
    times.push_back((clock.Now() - before).us);
  }
  return times;
}

// A database of our kind in a folder of its own there.
Finding CheckWal(const std::string& folder) {
  std::string name = folder + "/.tune-doctor-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    return Problem("wal", folder + ": no folder can be made there: " + ErrnoText(),
                   "make it writable, or choose another --db");
  }
  Status status;
  {
    const auto database = Database::Open(name + "/probe.db", Access::kCreate);
    status = database.ok() ? Migrate(**database) : database.status();
  }
  std::error_code error;
  fs::remove_all(name, error);
  if (status.ok()) return Ok("wal", "SQLite's write-ahead log works there");
  return Problem("wal", status.message(), "choose a local disk with --db");
}

// ---- programs

Finding CheckProgram(const std::string& path, const std::string& version) {
  const std::string item = fs::path(path).filename().string();
  const std::string remedy = "build and install all programs together, in one folder";
  if (access(path.c_str(), X_OK) != 0) {
    return Problem(item, path + ": " + ErrnoText(), remedy);
  }
  const Result<ProgramOutput> said = RunForOutput({path, "--version"}, Seconds(20));
  if (!said.ok()) return Problem(item, said.status().message(), remedy);
  std::istringstream words(said->out.substr(0, said->out.find('\n')));
  std::string word, last;
  while (words >> word) last = word;
  if (said->exit_status == 0 && last == version) return Ok(item, version);
  return Problem(item,
                 path + " is of version " + (last.empty() ? "unknown" : Printable(last)) +
                     ", tune of " + version,
                 remedy);
}

// The command that pip installs calls the program of the module under the same prefix.
bool IsCommandOfPip(const fs::path& found, const std::string& program_dir) {
  const std::string prefix = fs::absolute(found).parent_path().parent_path().string();
  std::ifstream in(found, std::ios::binary);
  std::string text(1000, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  return text.find("tune.__main__") != std::string::npos && program_dir.starts_with(prefix + "/");
}

}  // namespace

Finding JudgeCores(int64_t affinity, int64_t online, std::optional<double> cgroup_cpus) {
  std::string what = std::to_string(affinity) + " of " + std::to_string(online) + " usable";
  if (!cgroup_cpus) return Ok("cores", what + ", no quota");
  what += ", a control group allows " + ShortNumber(*cgroup_cpus);
  if (*cgroup_cpus >= static_cast<double>(affinity)) return Ok("cores", what);
  const auto whole = std::max<int64_t>(1, static_cast<int64_t>(std::floor(*cgroup_cpus)));
  return Warning("cores", what,
                 "the local worker would offer all " + std::to_string(affinity) +
                     "; run with --cpus " + std::to_string(whole));
}

Finding JudgeMemory(int64_t total, int64_t available, std::optional<int64_t> cgroup_bytes) {
  std::string what = FormatBytes(available) + " free of " + FormatBytes(total);
  int64_t usable = available;
  if (cgroup_bytes && *cgroup_bytes < total) {
    what += ", a control group allows " + FormatBytes(*cgroup_bytes);
    usable = std::min(usable, *cgroup_bytes);
  }
  if (usable >= kLittleMemory) return Ok("memory", what);
  return Warning("memory", what, "trials may be killed for want of it; run fewer at a time");
}

Finding JudgeFreeSpace(int64_t free_bytes) {
  const std::string what = FormatBytes(free_bytes) + " free";
  if (free_bytes < kNoSpace) {
    return Problem("space", what, "make room, or choose another --db; a full disk stops the sweep");
  }
  if (free_bytes < kLittleSpace) {
    return Warning("space", what, "limit checkpoints with checkpoint.disk_budget, or run tune gc");
  }
  return Ok("space", what);
}

Finding JudgeSyncs(std::vector<int64_t> sync_us) {
  std::sort(sync_us.begin(), sync_us.end());
  const int64_t median = std::max<int64_t>(1, sync_us[sync_us.size() / 2]);
  const std::string what = "median " + ShortNumber(static_cast<double>(median) / 1e3) +
                           " ms, worst " + ShortNumber(static_cast<double>(sync_us.back()) / 1e3) +
                           " ms of " + std::to_string(sync_us.size()) + ": about " +
                           std::to_string(1'000'000 / median) +
                           " commits/s; reports that come together share one";
  if (median < kNoDiskSyncUs) {
    return Warning("fsync", what, "no disk is so quick: a power loss may lose what was reported");
  }
  if (median > kSlowSyncUs) {
    return Warning("fsync", what, "a faster disk, or fewer reports, if trials report often");
  }
  return Ok("fsync", what);
}

Finding JudgeFileSystem(int64_t statfs_type) {
  // linux/magic.h and the file systems' own headers.
  static constexpr struct {
    uint32_t type;
    const char* name;
  } kKnown[] = {{0xef53, "ext4"},      {0x58465342, "xfs"},     {0x9123683e, "btrfs"},
                {0x2fc12fc1, "zfs"},   {0xf2f52010, "f2fs"},    {0x794c7630, "overlayfs"},
                {0x01021994, "tmpfs"}, {0x858458f6, "ramfs"},   {0x65735546, "FUSE"},
                {0x01021997, "9p"},    {0xca451a4e, "bcachefs"}};
  if (const char* const network = NetworkFileSystemName(statfs_type)) {
    return Problem("file system", network, "WAL cannot work there; choose a local disk with --db");
  }
  for (const auto& known : kKnown) {
    if (known.type != static_cast<uint32_t>(statfs_type)) continue;
    const std::string name = known.name;
    if (name == "tmpfs" || name == "ramfs") {
      return Warning("file system", name, "it is memory: all is lost when the machine stops");
    }
    if (name == "FUSE" || name == "9p") {
      return Warning("file system", name, "whether a sync reaches a disk is its server's to say");
    }
    return Ok("file system", name);
  }
  char type[32];
  std::snprintf(type, sizeof type, "0x%llx", static_cast<unsigned long long>(statfs_type));
  return Ok("file system", std::string("of type ") + type);
}

Findings JudgeGpus(const std::vector<Device>& devices, const std::vector<DeviceReading>& readings) {
  if (devices.empty()) {
    return {
        Ok("gpus", "NVIDIA's driver knows none (--gpus N makes logical ones, to try shares out)")};
  }
  Findings findings;
  for (size_t i = 0; i < devices.size(); ++i) {
    const std::string item = "gpu " + std::to_string(devices[i].index);
    const std::string name = Printable(devices[i].name) + " " + Printable(devices[i].uuid);
    if (!readings[i].lost.empty()) {
      findings.push_back(Problem(item, name + ": " + readings[i].lost,
                                 "reset it, or the machine; a worker offers what is left"));
      continue;
    }
    findings.push_back(Ok(item, name + ", " + DescribeMemory(readings[i].used_bytes) + " of " +
                                    DescribeMemory(readings[i].memory_bytes) + " used"));
  }
  return findings;
}

Finding JudgeShares(bool has_mps, bool sees_processes) {
  if (has_mps) return Ok("gpu shares", "MPS: its daemon holds command trials to their share");
  const std::string remedy =
      "start MPS (nvidia-cuda-mps-control -d): trials that begin after it have limits enforced";
  if (sees_processes) {
    return Warning("gpu shares",
                   "watching: a command trial that takes more memory than its share is ended "
                   "within a second; nothing keeps it from it",
                   remedy);
  }
  return Warning("gpu shares",
                 "neither MPS nor watching: the driver's process numbers are not those of this "
                 "container",
                 remedy + ", or give the container the host's process numbers (--pid=host)");
}

Findings CheckMachine(Instant now) {
  const CgroupLimits limits = ReadCgroupLimits(ReadBytes("/proc/self/cgroup"), "/sys/fs/cgroup");
  const std::string meminfo = ReadBytes("/proc/meminfo");
  Findings findings = {CheckCores(limits),
                       JudgeMemory(MeminfoBytes(meminfo, "MemTotal"),
                                   MeminfoBytes(meminfo, "MemAvailable"), limits.memory_bytes)};
  for (Finding& finding : CheckGpus()) findings.push_back(std::move(finding));
  findings.push_back(CheckOpenFiles());
  findings.push_back(CheckLoopback());
  findings.push_back(CheckClock(now));
  return findings;
}

Findings CheckDisk(const std::string& folder) {
  struct statfs info {};
  if (statfs(folder.c_str(), &info) != 0) {
    return {Problem("folder", folder + ": " + ErrnoText(), "make it, or choose another --db")};
  }
  Findings findings = {JudgeFileSystem(info.f_type)};
  struct statvfs space {};
  if (statvfs(folder.c_str(), &space) == 0) {
    findings.push_back(JudgeFreeSpace(static_cast<int64_t>(space.f_bavail * space.f_frsize)));
  }
  const Result<std::vector<int64_t>> syncs = MeasureSyncs(folder);
  findings.push_back(syncs.ok() ? JudgeSyncs(*syncs)
                                : Problem("fsync", syncs.status().message(),
                                          "make the folder writable, or choose another --db"));
  findings.push_back(CheckWal(folder));
  return findings;
}

Finding CheckName(const std::string& path_variable, const std::string& program_dir) {
  std::istringstream folders(path_variable);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path found = fs::path(folder.empty() ? "." : folder) / "tune";
    if (access(found.c_str(), X_OK) != 0 || fs::is_directory(found)) continue;
    std::error_code error;
    if (fs::equivalent(found, fs::path(program_dir) / "tune", error)) {
      return Ok("name", "tune on PATH is this program");
    }
    if (IsCommandOfPip(found, program_dir)) {
      return Ok("name", "tune on PATH is the command that pip installed for this program");
    }
    return Warning("name", "tune on PATH is another program, " + Printable(found.string()),
                   "call tunectl, which is this one, or put " + Printable(program_dir) +
                       " first on PATH (Ray has a program tune)");
  }
  return Ok("name", "no tune is on PATH");
}

Finding CheckPythonModule(const std::string& program_dir) {
  const std::string folder = program_dir + "/python";
  std::error_code error;
  if (!fs::is_regular_file(folder + "/tune/__init__.py", error)) {
    return Warning("python", "the module is not in " + Printable(folder),
                   "copy the folder python there; trials in Python import it");
  }
  return Ok("python", "trials find the module; by hand: export PYTHONPATH=" + Printable(folder));
}

Findings CheckPrograms(const std::string& program_dir, const std::string& version) {
  Findings findings;
  for (const char* const name : {"tune_cli", "tune_worker", "tune_trial", "tune_trial_command"}) {
    findings.push_back(CheckProgram(program_dir + "/" + name, version));
  }
  std::error_code error;
  if (!fs::exists(program_dir + "/tune_trial_food11", error) &&
      !fs::exists(program_dir + "/food11", error)) {
    findings.push_back(Ok("food11", "not in this installation (a wheel has it not)"));
    return findings;
  }
  for (const char* const name : {"tune_trial_food11", "food11"}) {
    findings.push_back(CheckProgram(program_dir + "/" + name, version));
  }
  return findings;
}

}  // namespace tune
