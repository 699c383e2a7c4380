// The searchers that a benchmark is told to compare, and how benchmarks refuse what they are told.
//
// Thread rule: pure functions, but for the end of the program.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/json.h"
#include "core/status.h"
#include "core/value.h"

namespace tune {

struct Contender {
  std::string name;
  Value search;  // As a spec's `search`.
};

// Says what is wrong and ends the program.
[[noreturn]] inline void Refuse(const std::string& message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  std::exit(2);
}

template <typename T>
T OrRefuse(Result<T> result, const std::string& what) {
  if (!result.ok()) Refuse(what + ": " + result.status().message());
  return *std::move(result);
}

// "tpe", or "wide={"algorithm": "tpe", ...}".
inline Contender ContenderOf(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals != std::string::npos) {
    return {text.substr(0, equals), OrRefuse(ParseJson(text.substr(equals + 1)), text)};
  }
  Value search = Value::MakeMap();
  search.Set("algorithm", Value(text));
  return {text, search};
}

}  // namespace tune
