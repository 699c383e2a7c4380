// libcurl, which is loaded when it is first needed and linked by nobody: a machine that has no
// object store to do with pays nothing for it at each start, and a wheel need not carry its thirty
// libraries.
//
// Thread rule: any thread.
#pragma once

#include <curl/curl.h>

#include "core/status.h"

namespace tune {

struct CurlLibrary {
  decltype(&curl_global_init) global_init = nullptr;
  decltype(&curl_easy_init) easy_init = nullptr;
  decltype(&curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&curl_easy_reset) easy_reset = nullptr;
  CURLcode (*easy_setopt)(CURL*, CURLoption, ...) = nullptr;
  CURLcode (*easy_getinfo)(CURL*, CURLINFO, ...) = nullptr;
  decltype(&curl_easy_perform) easy_perform = nullptr;
  decltype(&curl_easy_strerror) easy_strerror = nullptr;
  decltype(&curl_slist_append) slist_append = nullptr;
  decltype(&curl_slist_free_all) slist_free_all = nullptr;
};

// The same one each time. kFailedPrecondition, one line with the remedy: it is not there.
Result<const CurlLibrary*> LoadCurl();

}  // namespace tune
