// Heads that a person has logged in to (tune login): each is a file of the person's alone with the
// head's address and key, $XDG_CONFIG_HOME/tune/heads/NAME, or below ~/.config.
//
// Thread rule: stateless.
#pragma once

#include <optional>
#include <string>

#include "core/status.h"
#include "tuner/http/http_client.h"

namespace tune {

// The folder; kFailedPrecondition: neither XDG_CONFIG_HOME nor HOME says where.
Result<std::string> KeptHeadsFolder();

// kInvalidArgument: no plain word that could name a file.
Status CheckHeadName(const std::string& name);

// In the place of the one of that name. Returns the file's path. kFailedPrecondition: others may
// write into the folder.
Result<std::string> KeepHead(const std::string& name, const std::string& address);
// kNotFound names those that there are.
Status ForgetHead(const std::string& name);

// Where a head is: its address, the name of one that is kept, or a file that holds one. Nothing:
// the text is empty.
Result<std::optional<HttpPlace>> ReadHead(const std::string& text);

}  // namespace tune
