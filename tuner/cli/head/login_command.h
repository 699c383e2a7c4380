// `tune login NAME`: asks a head whether it takes the key in its address, and keeps the address
// under a name, for --head and TUNE_HEAD.
//
// Thread rule: one thread.
#pragma once

#include <istream>
#include <ostream>
#include <string>

namespace tune {

struct LoginOptions {
  std::string name;
  bool forget = false;       // Forgets the head of that name.
  bool is_terminal = false;  // Standard input is one.
};

// The address comes from `in`, so that no other user of the machine sees it. Returns the exit
// status: 0, or 1 or 2 with one line on `err`, and nothing was kept.
int LoginCommand(const LoginOptions& options, std::istream& in, std::ostream& out,
                 std::ostream& err);

}  // namespace tune
