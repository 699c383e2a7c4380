// What is read of a script's text, to see what it does with what tune gives.
//
// Thread rule: stateless.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace tune {

// Nothing: it cannot be read, is no text, or is too long for a script.
std::optional<std::string> ReadScript(const std::filesystem::path& path);

// Whether it is a shell's, by its name or its first line.
bool IsShellScript(const std::string& script, std::string_view text);

// Whether a '#' stands before this place in its line.
bool IsInComment(std::string_view text, size_t at);

// What stands between the parentheses, the first of which is before `begin`.
std::string_view ArgumentsAt(std::string_view text, size_t begin);

}  // namespace tune
