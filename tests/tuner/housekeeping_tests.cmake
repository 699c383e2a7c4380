# Explaining and housekeeping: why, and where artifacts lie.
tune_test(why_command_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/why_command_test.cc DEPS tune_queries)
tune_test(artifact_path_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/artifact_path_test.cc DEPS tune_artifacts)
tune_test(removed_checkpoint_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/removed_checkpoint_test.cc DEPS tune_housekeeping)
tune_test(provenance_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/provenance_test.cc DEPS tune_housekeeping)
tune_test(deleted_folders_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/deleted_folders_test.cc DEPS tune_housekeeping)
tune_test(artifact_garbage_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/artifact_garbage_test.cc DEPS tune_sqlite)
tune_test(housekeeping_commands_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/housekeeping_commands_test.cc DEPS tune_housekeeping)
tune_test(doctor_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/doctor_test.cc DEPS tune_housekeeping)
