// The page's files (web/), which the build puts into the program.
//
// Thread rule: immutable.
#pragma once

#include <string_view>

namespace tune {

struct PageFile {
  std::string_view path;  // "/assets/index-D3VgEDHf.js"; of the page itself "/".
  std::string_view content_type;
  std::string_view data;
};

// nullptr: there is no such file.
const PageFile* FindPageFile(std::string_view path);

}  // namespace tune
