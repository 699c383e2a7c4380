// Runs our programs as a user would: real processes, real files in a folder of the test's own.
// Waiting is for something: a line of output, or the end.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"

namespace tune::testing {

// A fresh folder, removed at the end.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tune_e2e_XXXXXX").string();
    TUNE_CHECK(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TestFolder() {
    std::error_code error;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, error);
    std::filesystem::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  // Writes a file and returns its path.
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ + "/" + name) << text;
    return path_ + "/" + name;
  }
  std::string Read(const std::string& name) const {
    std::ifstream in(path_ + "/" + name);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  // Names in the folder, sorted.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::string path_;
};

// As long as it lives, programs that begin have a TMPDIR that names no folder.
class MissingTmpdir {
 public:
  MissingTmpdir() {
    if (const char* const before = std::getenv("TMPDIR")) before_ = before;
    setenv("TMPDIR", "/nonexistent/tmp", 1);
  }
  ~MissingTmpdir() { before_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before_.c_str(), 1); }
  MissingTmpdir(const MissingTmpdir&) = delete;
  MissingTmpdir& operator=(const MissingTmpdir&) = delete;

 private:
  std::string before_;
};

inline std::string BinDir() {
  const char* const dir = std::getenv("TUNE_BIN_DIR");
  return dir != nullptr ? dir : "build/release/bin";
}

struct ProgramResult {
  int exit_status = 0;  // 128 + signal when killed.
  std::string out;
  std::string err;
};

// Whether it ended with 0; a test that fails shows all that the program said.
inline ::testing::AssertionResult Succeeded(const ProgramResult& result) {
  if (result.exit_status == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "exit status " << result.exit_status << "\nstdout:\n"
                                       << result.out << "\nstderr:\n"
                                       << result.err;
}

// A running program. Standard error is read line by line while it runs; standard output goes to a
// file.
class Program {
 public:
  // `network`: the file of a network namespace to run in (tests/e2e/network_rig.h); empty: ours.
  // `hidden`: a folder in whose place it sees an empty one that cannot be written; needs root.
  Program(const TestFolder& folder, const std::string& name,
          const std::vector<std::string>& arguments, const std::string& network = "",
          const std::string& hidden = "") {
    static int count = 0;
    out_path_ = folder / (".out" + std::to_string(++count));
    int err_pipe[2];
    TUNE_CHECK(pipe(err_pipe) == 0);
    pid_ = fork();
    TUNE_CHECK(pid_ >= 0);
    if (pid_ == 0) {
      setpgid(0, 0);
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // A test that is killed takes its programs along.
      if (!network.empty()) {
        TUNE_CHECK(setns(open(network.c_str(), O_RDONLY | O_CLOEXEC), CLONE_NEWNET) == 0);
      }
      if (!hidden.empty()) Hide(hidden);
      TUNE_CHECK(chdir(folder.path().c_str()) == 0);
      dup2(err_pipe[1], STDERR_FILENO);
      TUNE_CHECK(freopen(out_path_.c_str(), "w", stdout) != nullptr);
      TUNE_CHECK(freopen("/dev/null", "r", stdin) != nullptr);
      close(err_pipe[0]);
      close(err_pipe[1]);
      const std::string program = BinDir() + "/" + name;
      std::vector<char*> argv = {const_cast<char*>(program.c_str())};
      for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
      argv.push_back(nullptr);
      execv(program.c_str(), argv.data());
      _exit(126);
    }
    close(err_pipe[1]);
    err_ = fdopen(err_pipe[0], "r");
  }
  ~Program() {
    if (!has_ended_) {
      kill(-pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    if (err_ != nullptr) fclose(err_);
  }

  pid_t pid() const { return pid_; }

  // Reads standard error until a line for which `wanted` holds; false when it ends first.
  bool WaitForLine(const std::function<bool(const std::string&)>& wanted) {
    for (std::string line; ReadLine(line);) {
      if (wanted(line)) return true;
    }
    return false;
  }
  bool WaitForText(const std::string& text) {
    return WaitForLine(
        [&](const std::string& line) { return line.find(text) != std::string::npos; });
  }

  // Whether that is in what it has printed so far.
  bool HasPrinted(const std::string& text) const {
    std::ifstream out(out_path_);
    const std::string printed{std::istreambuf_iterator<char>(out), {}};
    return printed.find(text) != std::string::npos;
  }

  void Signal(int signal) { kill(pid_, signal); }

  // Nobody hears from now on what it says on standard error.
  void StopListening() { fclose(std::exchange(err_, nullptr)); }

  // Reads to the end and waits. Standard error's end also means that no descendant holds it any
  // more.
  ProgramResult Wait() {
    for (std::string line; ReadLine(line);) {
    }
    int status = 0;
    TUNE_CHECK(waitpid(pid_, &status, 0) == pid_);
    has_ended_ = true;
    ProgramResult result;
    result.exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    result.err = err_text_;
    std::ifstream out(out_path_);
    result.out.assign(std::istreambuf_iterator<char>(out), std::istreambuf_iterator<char>());
    std::filesystem::remove(out_path_);
    return result;
  }

 private:
  static void Hide(const std::string& folder) {
    TUNE_CHECK(unshare(CLONE_NEWNS) == 0);
    TUNE_CHECK(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0);
    TUNE_CHECK(mount("hidden", folder.c_str(), "tmpfs", MS_RDONLY, "size=4k") == 0);
  }

  bool ReadLine(std::string& line) {
    if (err_ == nullptr) return false;
    char* buffer = nullptr;
    size_t capacity = 0;
    const ssize_t length = getline(&buffer, &capacity, err_);
    if (length >= 0) {
      line.assign(buffer, static_cast<size_t>(length));
      err_text_ += line;
    }
    free(buffer);
    return length >= 0;
  }

  pid_t pid_;
  FILE* err_ = nullptr;
  std::string err_text_;
  std::string out_path_;
  bool has_ended_ = false;
};

inline ProgramResult RunProgram(const TestFolder& folder, const std::string& name,
                                const std::vector<std::string>& arguments) {
  return Program(folder, name, arguments).Wait();
}
inline ProgramResult RunTune(const TestFolder& folder, const std::vector<std::string>& arguments) {
  return RunProgram(folder, "tune", arguments);
}

// The process of that name whose parent is `parent`; 0 if there is none.
inline pid_t ChildOf(pid_t parent, const std::string& name) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream in(entry.path() / "stat");
    std::string stat;
    std::getline(in, stat);  // "pid (name) state parent ..."
    const size_t open = stat.find('(');
    const size_t end = stat.rfind(')');
    if (open == std::string::npos || end == std::string::npos || end + 4 >= stat.size()) continue;
    if (stat.substr(open + 1, end - open - 1) != name.substr(0, 15)) continue;
    if (std::atoi(stat.c_str() + end + 4) == parent) return std::atoi(stat.c_str());
  }
  return 0;
}

// Answers of a query, one string a row, columns joined by '|', through Debian's sqlite3.
inline std::vector<std::string> Query(const TestFolder& folder, const std::string& sql,
                                      const std::string& db = "tune.db") {
  // A tuner that closes its database locks it for a moment.
  const std::string command =
      "sqlite3 -readonly -cmd '.timeout 30000' '" + (folder / db) + "' \"" + sql + "\"";
  FILE* const pipe = popen(command.c_str(), "r");
  TUNE_CHECK(pipe != nullptr);
  std::vector<std::string> rows;
  char line[65536];
  while (fgets(line, sizeof line, pipe) != nullptr) {
    std::string row = line;
    if (!row.empty() && row.back() == '\n') row.pop_back();
    rows.push_back(row);
  }
  TUNE_CHECK(pclose(pipe) == 0);
  return rows;
}

// Asks until this is the answer. The database must be there.
inline void WaitForRows(const TestFolder& folder, const std::string& sql,
                        const std::vector<std::string>& rows, const std::string& db = "tune.db") {
  while (Query(folder, sql, db) != rows) {
  }
}

// Until all trials together have reported as often.
inline void WaitForReports(const TestFolder& folder, int count) {
  WaitForRows(folder, "select count(*) >= " + std::to_string(count) + " from reports", {"1"});
}

}  // namespace tune::testing
