// What of a folder is not packed: the lines of its .tuneignore, as fnmatch(3) understands them.
//
//   data            a file or folder of that name, at any depth
//   *.ckpt
//   out/            folders alone
//   runs/2025-*     a path from the folder's top, since it has a '/' before its end
//   # a comment
//
// Thread rule: values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace tune {

class IgnoreList {
 public:
  // Errors carry "line N: ".
  static Result<IgnoreList> Parse(std::string_view text);

  // `path`: relative to the folder.
  bool Holds(const std::string& path, bool is_folder) const;

 private:
  struct Pattern {
    std::string text;
    bool is_path = false;
    bool folders_alone = false;
  };
  std::vector<Pattern> patterns_;
};

}  // namespace tune
