// The keys of clients of a head's page, beside the tokens of workers (trial_runner/tls): each is a
// person's or a program's own, with a role, an end, and a time since which it counts no more.
//
// A key is its token's id, eight hexadecimal digits, and thirty-two that are its secret. Of it only
// a hash is kept.
//
// Thread rule: one thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.h"
#include "core/status.h"
#include "core/time.h"
#include "trial_runner/tls/tls_folder.h"
#include "tuner/http/page_guard.h"

namespace tune {

// Draws a key for `name`, valid for `validity` from `now`, and keeps its hash in the folder.
// kInvalidArgument: the name is none.
Result<std::string> MakeClientKey(const TlsFolder& folder, TokenRole role, const std::string& name,
                                  Instant now, Duration validity);

class ClientKeys {
 public:
  // `tls_folder` as TlsFolderOf; it may be made later. The clock must outlive it.
  ClientKeys(std::string tls_folder, const Clock& clock)
      : path_(std::move(tls_folder)), clock_(clock) {}

  // Whose key that is; a stranger's where it is none of these, has expired or was revoked. Looks at
  // the file's state each time; a list that cannot be read lets nobody new in, and the last one
  // stays. Keeps the time as the key's last use, to the minute.
  PageCaller CallerOf(std::string_view key);

 private:
  void Refresh();

  const std::string path_;
  const Clock& clock_;
  std::optional<TlsFolder> folder_;
  std::string version_;
  TokenList tokens_;
  std::map<std::string, Instant> used_at_;  // As kept, by id.
};

}  // namespace tune
