# What a person writes to a sweep.
tune_library(tune_sweep_labels SOURCES ${CMAKE_CURRENT_LIST_DIR}/sweep_labels.cc DEPS tune_core)

# The journal's text, the words and lines of the database, and the store over SQLite.
tune_library(tune_events
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/event_codec.cc ${CMAKE_CURRENT_LIST_DIR}/names.cc
    ${CMAKE_CURRENT_LIST_DIR}/row_lines.cc ${CMAKE_CURRENT_LIST_DIR}/sweep_event_codec.cc
  DEPS tune_core tune_placement)

find_package(SQLite3 REQUIRED)
file(GLOB TUNE_SQLITE_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/sqlite/*.cc)
tune_library(tune_sqlite
  SOURCES ${TUNE_SQLITE_SOURCES}
  DEPS tune_core tune_core_posix tune_events tune_artifacts tune_sweep_labels SQLite::SQLite3)
