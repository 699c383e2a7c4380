// Names of files without the symbolic links in them.
//
// Thread rule: stateless.
#pragma once

#include <string>

namespace tune {

// The path of the file that `path` leads to, so that a file has one name whatever links lead there.
// The file need not exist: a link to a file that is still to be made leads to that file. A path
// without links comes back as it is, also a relative one; all others come back absolute. A path
// that cannot be followed (its folder is missing, links in a circle) comes back as it is.
std::string FollowLinks(const std::string& path);

}  // namespace tune
