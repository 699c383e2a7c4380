#include "trial_runner/bucket/curl_library.h"

#include <dlfcn.h>

#include <string>

// The header's macros check arguments of calls by name.
#undef curl_easy_setopt
#undef curl_easy_getinfo

namespace tune {
namespace {

template <typename Function>
bool FindIn(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

Result<const CurlLibrary*> LoadCurlOnce() {
  static CurlLibrary curl;
  void* const library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return FailedPrecondition(std::string("s3:// needs libcurl, which is not on this machine (") +
                              dlerror() + "); install it: apt-get install libcurl4");
  }
  const bool is_whole = FindIn(library, "curl_global_init", curl.global_init) &&
                        FindIn(library, "curl_easy_init", curl.easy_init) &&
                        FindIn(library, "curl_easy_cleanup", curl.easy_cleanup) &&
                        FindIn(library, "curl_easy_reset", curl.easy_reset) &&
                        FindIn(library, "curl_easy_setopt", curl.easy_setopt) &&
                        FindIn(library, "curl_easy_getinfo", curl.easy_getinfo) &&
                        FindIn(library, "curl_easy_perform", curl.easy_perform) &&
                        FindIn(library, "curl_easy_strerror", curl.easy_strerror) &&
                        FindIn(library, "curl_slist_append", curl.slist_append) &&
                        FindIn(library, "curl_slist_free_all", curl.slist_free_all);
  if (!is_whole || curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    return FailedPrecondition(
        "s3:// needs libcurl 7.58 or later; the one of this machine is other");
  }
  return &curl;
}

}  // namespace

Result<const CurlLibrary*> LoadCurl() {
  static const Result<const CurlLibrary*> loaded = LoadCurlOnce();
  return loaded;
}

}  // namespace tune
