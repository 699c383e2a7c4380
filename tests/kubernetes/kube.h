// What the API server that with_kubernetes has booted answers an admin.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check.h"

namespace tune::testing {

using Rows = std::vector<std::string>;

inline std::string Kube(const std::string& method, const std::string& path,
                        const std::string& body = "") {
  const std::string command = std::string(std::getenv("TUNE_KUBE")) + " " + method + " '" + path +
                              "'" + (body.empty() ? "" : " '" + body + "'");
  FILE* const pipe = popen(command.c_str(), "r");
  TUNE_CHECK(pipe != nullptr);
  std::string text;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  pclose(pipe);
  return text;
}

// The names in that list that begin so.
inline Rows Listed(const std::string& path, const std::string& beginning = "tune-lab-") {
  constexpr std::string_view kBegin = "\n        \"name\": \"";  // Of metadata.
  const std::string list = Kube("GET", path);
  Rows names;
  for (size_t at = 0; (at = list.find(kBegin, at)) != list.npos;) {
    at += kBegin.size();
    std::string name = list.substr(at, list.find('"', at) - at);
    if (name.starts_with(beginning)) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace tune::testing
