// Files that a command writes for a person: reports and pictures, which a later call replaces.
//
// Thread rule: stateless.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"

namespace tune {

// How the files begin that tune writes. An older one of the same beginning may be replaced.
inline constexpr std::string_view kHtmlBeginning =
    "<!doctype html>\n<html lang=\"en\">\n  <head><meta http-equiv=\"Content-Security-Policy\" "
    "content=\"default-src 'none'";
inline constexpr std::string_view kMarkdownBeginning = "# Sweep ";
inline constexpr std::string_view kSvgBeginning =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"";

// Whether `path` may become a file that begins like this. kInvalidArgument with the remedy: its
// folder is missing, or something else is there (a database, a script, a device). An empty file and
// one that begins like this may be replaced.
Status MayReplace(const std::string& path, std::string_view beginning);

// Writes the file whole and under a name of its own first, so that a reader sees the old or the
// new. `text` begins with `beginning`. Errors: MayReplace's, ErrnoStatus.
Status ReplaceOwnFile(const std::string& path, std::string_view text, std::string_view beginning);

}  // namespace tune
