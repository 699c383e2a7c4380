// What is read of a script's text, to see what it does with what tune gives.
//
// Thread rule: stateless.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tune {

// Nothing: it cannot be read, is no text, or is too long for a script.
std::optional<std::string> ReadScript(const std::filesystem::path& path);

// Whether it is a shell's, by its name or its first line.
bool IsShellScript(const std::string& script, std::string_view text);

// What a regular expression may be sought in: std::regex recurses. A longer line is data.
inline constexpr size_t kRegexLineMax = 500;
// The lines that are no longer than that.
std::vector<std::string> RegexLinesOf(const std::string& text);

// Whether a '#' stands before this place in its line.
bool IsInComment(std::string_view text, size_t at);

// What stands between the parentheses, the first of which is before `begin`.
std::string_view ArgumentsAt(std::string_view text, size_t begin);

}  // namespace tune
