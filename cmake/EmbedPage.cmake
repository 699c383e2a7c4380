# cmake -DFOLDER=... -DOUT=... -P EmbedPage.cmake: the files of a folder as C++ (tuner/http/page_files.h).
file(GLOB_RECURSE files RELATIVE ${FOLDER} ${FOLDER}/*)
list(SORT files)
set(arrays "")
set(entries "")
set(count 0)
foreach(file ${files})
  file(READ ${FOLDER}/${file} hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
  if(file MATCHES "\\.html$")
    set(type "text/html; charset=utf-8")
  elseif(file MATCHES "\\.js$")
    set(type "text/javascript; charset=utf-8")
  elseif(file MATCHES "\\.css$")
    set(type "text/css; charset=utf-8")
  else()
    message(FATAL_ERROR "EmbedPage: no content type is known for ${file}")
  endif()
  set(path /${file})
  if(file STREQUAL index.html)
    set(path /)
  endif()
  string(APPEND arrays "constexpr unsigned char kFile${count}[] = {${bytes}};\n")
  string(APPEND entries "    {\"${path}\", \"${type}\", {reinterpret_cast<const char*>(kFile${count}), sizeof(kFile${count})}},\n")
  math(EXPR count "${count} + 1")
endforeach()
file(WRITE ${OUT} "#include \"tuner/http/page_files.h\"

namespace tune {
namespace {

${arrays}
const PageFile kFiles[] = {
${entries}};

}  // namespace

const PageFile* FindPageFile(std::string_view path) {
  for (const PageFile& file : kFiles) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

}  // namespace tune
")
