// What a command of tune prints, bit by bit, for who asked for it from elsewhere
// (remote_command.h): one after the other
//   o 12\n  and 12 bytes of its standard output, e 5\n and 5 of its standard error,
//   x 0\n   last: its exit status. What ends without it is not whole.
//
// Thread rule: one thread, which must live as long as the command (child_process.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/posix/file_descriptor.h"
#include "core/status.h"
#include "tuner/cli/child_process.h"
#include "tuner/http/http_message.h"

namespace tune {

class CommandOutput final : public AnswerSource {
 public:
  // `width`: of the terminal that it is shown on; 0: none.
  static Result<std::shared_ptr<CommandOutput>> Start(const std::string& program_dir,
                                                      const std::string& db_path,
                                                      const std::vector<std::string>& arguments,
                                                      int width);

  int fd() const override { return events_.get(); }
  std::optional<std::string> Read() override;
  std::string Silence() const override { return "o 0\n"; }

 private:
  CommandOutput() = default;
  void Watch(int fd);
  bool TakeFrom(FileDescriptor& pipe, char stream, std::string& out);

  FileDescriptor output_, error_, ended_;
  FileDescriptor events_;
  std::unique_ptr<ChildProcess> command_;
  bool has_said_status_ = false;
};

// Reads what CommandOutput says.
class CommandOutputReader {
 public:
  using Print = std::function<void(std::string_view)>;
  CommandOutputReader(Print out, Print error) : out_(std::move(out)), error_(std::move(error)) {}

  // kDataLoss: it is nothing of the kind.
  Status Take(std::string_view piece);
  std::optional<int> exit_status() const { return exit_status_; }

 private:
  const Print out_;
  const Print error_;
  std::string head_;   // That has not ended.
  char stream_ = 'o';  // Of what comes.
  size_t left_ = 0;    // Of it.
  std::optional<int> exit_status_;
};

}  // namespace tune
