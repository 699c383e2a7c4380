// What a command writes that is run elsewhere (remote_command.h): --svg, --export, --html, --md
// and the folder of an export name files and folders of who asked. There they are plain names in a
// folder of the command's own, which comes here as one text.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "trial_runner/package/incoming_text.h"
#include "trial_runner/sweep_info.h"

namespace tune {

struct RemoteFile {
  size_t at = 0;  // Which argument names the option.
  std::string path;
  bool is_word = false;  // And no option: the argument is the path.
};
// kInvalidArgument: an option without its path.
Result<std::vector<RemoteFile>> FilesOf(const std::vector<std::string>& arguments);

class RemoteFiles {
 public:
  // kInvalidArgument: something is there already, or they do not lie in one folder.
  static Result<RemoteFiles> Prepare(const std::vector<std::string>& arguments);

  // As they are said there.
  const std::vector<std::string>& arguments() const { return arguments_; }
  // The next of the text that has this name.
  Status Take(const PackageName& name, std::string_view piece);
  // They are where they were wanted, if any came. Nothing is replaced. kDataLoss: one came that was
  // not asked for; nothing is kept.
  Status Keep();

 private:
  std::vector<std::string> arguments_;
  std::string folder_;               // In which they are wanted.
  std::vector<std::string> wanted_;  // Their names.
  std::optional<IncomingText> text_;
};

}  // namespace tune
