// Whether a sanitizer of addresses or threads is built in: it takes more memory than any limit of a
// test, and ends in its own words a program that gets none.
#pragma once

namespace tune {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

}  // namespace tune
