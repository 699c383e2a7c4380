# What every target of the project shares: the language, the warnings, the include root and where programs go.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_program(TUNE_CCACHE ccache)
if(TUNE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TUNE_CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${TUNE_CCACHE})
endif()

add_library(tune_options INTERFACE)
target_compile_options(tune_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${TUNE_WERROR}>>:-Werror -Werror=unused-result>)
# GCC 12 warns falsely of overlapping copies in "text" + std::string (GCC bug 105651) and of optionals read empty (80635).
target_compile_options(tune_options INTERFACE
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-restrict -Wno-maybe-uninitialized>)
target_include_directories(tune_options INTERFACE ${PROJECT_SOURCE_DIR})
target_link_libraries(tune_options INTERFACE Threads::Threads)
# A program needs at run time only the libraries that it uses: each one costs at every start.
target_link_options(tune_options INTERFACE -Wl,--as-needed)
if(TUNE_SANITIZE)
  target_compile_options(tune_options INTERFACE -fsanitize=${TUNE_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all
    # Sanitizers keep loops from being vectorised.
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:Clang>>:-Wno-pass-failed>)
  target_link_options(tune_options INTERFACE -fsanitize=${TUNE_SANITIZE})
endif()

# Of every test; what it starts inherits it.
set(TUNE_TEST_ENVIRONMENT TUNE_SOURCE_DIR=${PROJECT_SOURCE_DIR} TUNE_BIN_DIR=${CMAKE_BINARY_DIR}/bin
  TUNE_BUILD_DIR=${CMAKE_BINARY_DIR})
if(TUNE_SANITIZE MATCHES thread)
  # Boost.Asio has fences, which TSan does not follow; our code has none.
  target_compile_options(tune_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  list(APPEND TUNE_TEST_ENVIRONMENT
    TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/thread_sanitizer.supp:print_suppressions=0)
endif()

# Several sources at a time, so that what they all include is read once: a build of everything is shorter, and one after a change
# of one source longer.
function(tune_compile_together name)
  if(NOT TUNE_UNITY)
    return()
  endif()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
  # There a class of one source looks as if a header had it; and a source is named by its whole path, which is no part of a program.
  target_compile_options(${name} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>)
endfunction()

# tune_library(NAME SOURCES ... DEPS ...): a static library of one room.
function(tune_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC tune_options ${ARG_DEPS})
  tune_compile_together(${name})
endfunction()

# tune_program(NAME SOURCES ... DEPS ...): an executable in <build>/bin.
function(tune_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE tune_options ${ARG_DEPS})
  tune_compile_together(${name})
endfunction()

# A program that is copied to other machines with its libraries beside it, in lib/ (tuner/engines/worker_programs.h). They look for
# their own there, too: so no new tags.
function(tune_travels name)
  set_target_properties(${name} PROPERTIES BUILD_RPATH "$ORIGIN/lib" INSTALL_RPATH "$ORIGIN/lib")
  target_link_options(${name} PRIVATE -Wl,--disable-new-dtags)
endfunction()

# googletest: installed, or its sources. A models-only build, which may be on a machine that has neither, does without tests.
set(TUNE_GTEST_SOURCE "" CACHE PATH "Sources of googletest, where it is not installed")
set(TUNE_HAS_GTEST ON)
if(TUNE_GTEST_SOURCE)
  set(INSTALL_GTEST OFF)
  add_subdirectory(${TUNE_GTEST_SOURCE} ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
elseif(TUNE_MODELS_ONLY)
  find_package(GTest)
  set(TUNE_HAS_GTEST ${GTest_FOUND})
  if(NOT GTest_FOUND)
    message(WARNING "no googletest: tests are left out; see TUNE_GTEST_SOURCE")
  endif()
else()
  find_package(GTest REQUIRED)
endif()

# tune_test(NAME SOURCES ... DEPS ... [LABELS ...] [LAUNCHER ...]): one googletest program, one ctest entry, which LAUNCHER starts
# where there is one.
# TUNE_SOURCE_DIR and TUNE_BIN_DIR (where the programs are) are in its environment.
function(tune_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LABELS;LAUNCHER" ${ARGN})
  if(NOT TUNE_HAS_GTEST)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE tune_options ${ARG_DEPS} tune_patience GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  # A test's own code runs for less time than its compiling at -O3 takes.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  add_test(NAME ${name} COMMAND ${ARG_LAUNCHER} $<TARGET_FILE:${name}>)
  set_tests_properties(${name} PROPERTIES
    LABELS "${ARG_LABELS}" TIMEOUT 600
    ENVIRONMENT "${TUNE_TEST_ENVIRONMENT};TUNE_TEST_SECONDS=570")
endfunction()
if(TUNE_HAS_GTEST)
  add_library(tune_patience OBJECT ${PROJECT_SOURCE_DIR}/tests/patience.cc)
  target_link_libraries(tune_patience PRIVATE tune_options GTest::gtest)
endif()

# A room that is there; while the house grows, one that is not yet has nothing to build.
function(tune_room name)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${name}/CMakeLists.txt)
    add_subdirectory(${name})
  endif()
endfunction()
