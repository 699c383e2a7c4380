// What an object's ETag says of its bytes ("Checking object integrity", Amazon S3 User Guide):
// their MD5, of an object that was written at once; of one in N parts the MD5 of the parts' MD5s,
// "-N" behind it; and of an object that the store has encrypted under a key of its own neither of
// these, in the same form.
//
// Thread rule: pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tune {

// Whether it has the form of an MD5, with quotes.
bool MayBeMd5(std::string_view etag);

// Sizes that the parts may have had, those that programs use by themselves first. Empty: the ETag
// is of no object in parts.
std::vector<int64_t> PartSizesOf(std::string_view etag, int64_t bytes);

// Whether these bytes, or all of the file's, are shown to be what the ETag names. False: they are
// not, or the ETag is no MD5, or the parts had a size that nobody can know.
bool ShowsBytes(std::string_view etag, std::string_view bytes);
bool ShowsFile(std::string_view etag, const std::string& path, int64_t bytes);

}  // namespace tune
