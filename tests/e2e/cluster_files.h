// Clusters of tests: the head in the background, and a cluster file whose machines are processes of
// this machine, by a script in the place of a cloud.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/json.h"
#include "tests/e2e/free_ports.h"
#include "tests/e2e/program.h"

namespace tune::testing {

// The head that holds the folder's database, as its lock says; it is killed.
inline void KillHead(const TestFolder& folder) {
  const std::string lock = folder.Read("tune.db.lock");
  const Result<Value> holder = ParseJson(lock.substr(0, lock.find('\n')));
  TUNE_CHECK(holder.ok() && holder->is_map() && holder->Find("pid") != nullptr);
  const int64_t pid = holder->Find("pid")->AsInt();
  TUNE_CHECK(pid > 1);
  TUNE_CHECK(kill(static_cast<pid_t>(pid), SIGKILL) == 0);
}

// Machines are files in vms/; each has a worker, which lives as long as its file. Of a file `fail`
// all commands fail with its words, of `refuse` no machine is made, of `stillborn` no worker
// starts; of `late` a machine is made once the file is gone, of `hang` what makes one does not end.
// Of `silent` what lists them does not end, of `lie` it prints its words and ends with 0.
inline constexpr char kCloud[] = R"sh(#!/bin/sh
set -eu
cd "$(dirname "$0")"
mkdir -p vms
case $1 in
create)
  echo "create $2" >>calls
  [ -e fail ] && { cat fail >&2; exit 1; }
  [ -e refuse ] && { cat refuse >&2; exit 75; }
  [ -e hang ] && exec tail -f /dev/null
  [ -e vms/$2 ] && exit 0
  if [ -e late ]; then
    setsid sh -c 'echo waits '$2' >>calls; while [ -e late ]; do sleep 0.05; done; echo running >vms/'$2 </dev/null >/dev/null 2>&1 &
    exit 0
  fi
  echo running >vms/$2
  [ -e stillborn ] && exit 0
  setsid sh -c 'echo $$ >vms/'$2'.pid; exec "$TUNE_BIN_DIR/tune_worker" --connect $TUNE_CONNECT --name '$2' --cpus $TUNE_CPUS --gpus 0' </dev/null >vms/$2.log 2>&1 &
  ;;
delete)
  echo "delete $2" >>calls
  [ -e vms/$2.pid ] && kill -9 -$(cat vms/$2.pid) 2>/dev/null
  rm -f vms/$2 vms/$2.pid vms/$2.log
  echo "deleted $2" >>calls
  ;;
list)
  [ -e fail ] && { cat fail >&2; exit 1; }
  [ -e lie ] && { cat lie; exit 0; }
  while [ -e silent ]; do sleep 0.05; done
  echo "somebody-elses running"
  for vm in vms/*; do
    case $vm in *.pid | *.log | 'vms/*') ;; *) echo "$(basename $vm) $(cat $vm)" ;; esac
  done
  ;;
log) tail -n 3 vms/$2.log ;;
esac
exit 0
)sh";

// cluster.yaml: an example, with parts of its text replaced.
inline void WriteExample(const TestFolder& folder, const std::string& name,
                         const std::vector<std::pair<std::string, std::string>>& parts) {
  const char* const root = std::getenv("TUNE_SOURCE_DIR");
  TUNE_CHECK(root != nullptr);
  std::ifstream in(std::string(root) + "/examples/clusters/" + name);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  for (const auto& [from, to] : parts) {
    const size_t at = text.find(from);
    TUNE_CHECK(at != std::string::npos);
    text.replace(at, from.size(), to);
  }
  folder.Write("cluster.yaml", text);
}

// Whatever became of a test, no head of its folder is left.
inline void EndHead(const TestFolder& folder) {
  const std::string lock = folder.Read("tune.db.lock");
  const Result<Value> holder = ParseJson(lock.substr(0, lock.find('\n')));
  if (holder.ok() && holder->is_map() && holder->Find("pid") != nullptr) KillHead(folder);
}

// Whether the command says all of it on standard error, in whatever order; it is killed then.
inline bool Says(const TestFolder& folder, const std::vector<std::string>& arguments,
                 std::vector<std::string> texts, const std::string& network = "") {
  Program program(folder, "tune", arguments, network);
  std::string said;
  const bool is_all = program.WaitForLine([&](const std::string& line) {
    said += line;
    std::erase_if(
        texts, [&line](const std::string& text) { return line.find(text) != std::string::npos; });
    return texts.empty();
  });
  if (!is_all) ADD_FAILURE() << "not said: " << texts.front() << "\n" << said;
  return is_all;
}

class Cloud {
 public:
  explicit Cloud(const TestFolder& folder) : folder_(folder) {
    std::filesystem::permissions(folder.Write("vm", kCloud), std::filesystem::perms::owner_all);
  }
  // Whatever a failed test left.
  ~Cloud() {
    for (const std::string& vm : Machines()) {
      const int status =
          std::system(("'" + (folder_ / "vm") + "' delete " + vm + " >/dev/null 2>&1").c_str());
      (void)status;
    }
  }
  // `more`: of the pool. Writes cluster.yaml.
  void WriteFile(const std::string& more) const {
    folder_.Write("cluster.yaml",
                  "name: test\nhead: {listen: \"127.0.0.1:" + port_ +
                      "\"}\npools:\n  vm:\n"
                      "    command:\n      up: [./vm, create, \"{name}\"]\n"
                      "      down: [./vm, delete, \"{name}\"]\n      list: [./vm, list]\n"
                      "      log: [./vm, log, \"{name}\"]\n    worker: {cpus: 2}\n" +
                      more);
  }
  std::vector<std::string> Machines() const {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "vms", error)) {
      const std::string name = entry.path().filename().string();
      if (name.find('.') == std::string::npos) names.push_back(name);
    }
    return names;
  }

 private:
  const TestFolder& folder_;
  const std::string port_ = std::to_string(FreePorts(1).front());
};

}  // namespace tune::testing
