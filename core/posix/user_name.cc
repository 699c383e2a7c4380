#include "core/posix/user_name.h"

#include <pwd.h>
#include <unistd.h>

namespace tune {

std::string UserName() {
  const passwd* const user = getpwuid(getuid());
  return user != nullptr && user->pw_name[0] != '\0' ? user->pw_name : std::to_string(getuid());
}

}  // namespace tune
