// What a command of tune prints, bit by bit, for who asked for it from elsewhere
// (remote_command.h): one after the other
//   o 12\n  and 12 bytes of its standard output, e 5\n and 5 of its standard error,
//   h 70\n  and the SHA-256, a space and the size of the folder of files that it wrote, if it wrote
//           any and ended well; f 9\n and 9 bytes of that, as one text (package/folder_text.h),
//   x 0\n   last: its exit status. What ends without it is not whole.
//
// Thread rule: one thread, which must live as long as the command (child_process.h).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/posix/child_process.h"
#include "core/posix/file_descriptor.h"
#include "core/status.h"
#include "trial_runner/package/folder_text.h"
#include "tuner/control/control_request.h"
#include "tuner/http/http_message.h"

namespace tune {

class CommandOutput final : public AnswerSource {
 public:
  // `width`: of the terminal that it is shown on; 0: none. `asks_for`: what it changes is asked for
  // by that client; one without a name, no admin, changes nothing.
  static Result<std::shared_ptr<CommandOutput>> Start(const std::string& program_dir,
                                                      const std::string& db_path,
                                                      const std::vector<std::string>& arguments,
                                                      int width, const Asker& asks_for);

  int fd() const override { return events_.get(); }
  std::optional<std::string> Read() override;
  std::string Silence() const override { return "o 0\n"; }
  ~CommandOutput() override;

 private:
  CommandOutput() = default;
  void Watch(int fd);
  bool TakeFrom(FileDescriptor& pipe, char stream, std::string& out);
  bool HasReadFiles();
  Result<std::string> NextOfFiles();

  FileDescriptor output_, error_, ended_;
  FileDescriptor events_;
  std::unique_ptr<ChildProcess> command_;
  bool has_said_status_ = false;
  std::string folder_;  // Where it runs: what it writes is for who asked.
  // What was read of it, by `reader_`, once `is_read_`, of which `read_` wakes who waits.
  std::optional<Result<FolderText>> text_;
  std::atomic<bool> is_read_ = false;
  FileDescriptor read_;
  std::jthread reader_;
  std::optional<FolderText> files_;
  int64_t files_said_ = 0;
};

// Reads what CommandOutput says.
class CommandOutputReader {
 public:
  using Print = std::function<void(std::string_view)>;
  // `files`: a FolderText, whose name is known when the first of it comes.
  CommandOutputReader(Print out, Print error, Print files)
      : out_(std::move(out)), error_(std::move(error)), files_(std::move(files)) {}

  // kDataLoss: it is nothing of the kind.
  Status Take(std::string_view piece);
  std::optional<int> exit_status() const { return exit_status_; }
  const PackageName& files() const { return name_; }  // Without a hash: there are none.

 private:
  bool ReadName();

  const Print out_;
  const Print error_;
  const Print files_;
  std::string name_text_;
  PackageName name_;
  std::string head_;   // That has not ended.
  char stream_ = 'o';  // Of what comes.
  size_t left_ = 0;    // Of it.
  std::optional<int> exit_status_;
};

}  // namespace tune
