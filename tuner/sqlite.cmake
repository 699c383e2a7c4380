# The journal's text and the words of the database, and the store over SQLite.
if(NOT TARGET tune_events)
  tune_library(tune_events
    SOURCES ${CMAKE_CURRENT_LIST_DIR}/event_codec.cc ${CMAKE_CURRENT_LIST_DIR}/names.cc
            ${PROJECT_SOURCE_DIR}/trial_runner/outcome_names.cc
    DEPS tune_core)
endif()

find_package(SQLite3 REQUIRED)
file(GLOB TUNE_SQLITE_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/sqlite/*.cc)
tune_library(tune_sqlite
  SOURCES ${TUNE_SQLITE_SOURCES}
  DEPS tune_core tune_events SQLite::SQLite3)
