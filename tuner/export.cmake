# A sweep in the forms of other tools.
file(GLOB TUNE_EXPORT_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/export/*.cc)
tune_library(tune_export
  SOURCES ${TUNE_EXPORT_SOURCES}
  DEPS tune_core tune_core_posix tune_search tune_search_problem tune_sqlite)

tune_library(tune_export_command SOURCES cli/keep/export_command.cc DEPS tune_core_posix tune_export tune_queries)
