// The devices that the library in NVML's place tells of (standin_nvml.cc), as a test sets them.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace tune::testing {

class StandInMachine {
 public:
  static constexpr int kGpuIsLost = 15;
  static constexpr int kVersionMismatch = 18;

  // `path`: of the file that tells of them, which programs started from now on find.
  explicit StandInMachine(std::string path) : path_(std::move(path)) {
    setenv("TUNE_STANDIN_NVML", path_.c_str(), 1);
    const char* const build = std::getenv("TUNE_BUILD_DIR");
    setenv("LD_LIBRARY_PATH", Library(build == nullptr ? "build/release" : build).c_str(), 1);
    Write();
  }
  ~StandInMachine() {
    unsetenv("TUNE_STANDIN_NVML");
    unsetenv("LD_LIBRARY_PATH");
  }
  static std::string Library(const std::string& build) { return build + "/tests/nvml"; }

  const std::string& path() const { return path_; }
  void Device(const std::string& uuid, int64_t total, int64_t used, const std::string& name) {
    Line("device " + uuid + " " + std::to_string(total) + " " + std::to_string(used) + " " + name);
  }
  void Process(int index, int64_t pid, int64_t bytes) {
    Line("process " + std::to_string(index) + " " + std::to_string(pid) + " " +
         (bytes < 0 ? "-" : std::to_string(bytes)));
  }
  void Fail(int index, int error) {
    Line("fail " + std::to_string(index) + " " + std::to_string(error));
  }
  // That device is in MIG mode, and has these instances, in order.
  void MigMode(int index) { Line("mig " + std::to_string(index)); }
  void Instance(int index, const std::string& uuid, int64_t total, int64_t used, int gpu_instance,
                const std::string& name) {
    Line("instance " + std::to_string(index) + " " + uuid + " " + std::to_string(total) + " " +
         std::to_string(used) + " " + std::to_string(gpu_instance) + " " + name);
  }
  void InstanceProcess(int index, int place, int64_t pid, int64_t bytes) {
    Line("instance_process " + std::to_string(index) + " " + std::to_string(place) + " " +
         std::to_string(pid) + " " + std::to_string(bytes));
  }
  // An error of the device, or of one of its GPU instances.
  void Xid(int index, int number, const std::string& gpu_instance = "-") {
    Line("xid " + std::to_string(index) + " " + std::to_string(number) + " " + gpu_instance);
  }
  void Driver(int error) { Line("driver " + std::to_string(error)); }
  void Clear() {
    text_.clear();
    Write();
  }

 private:
  void Line(const std::string& line) {
    text_ += line + "\n";
    Write();
  }
  // Renamed into place: a reader sees all of it or what was before.
  void Write() const {
    std::ofstream(path_ + ".new") << text_;
    std::filesystem::rename(path_ + ".new", path_);
  }

  const std::string path_;
  std::string text_;
};

}  // namespace tune::testing
