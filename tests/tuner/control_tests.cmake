# Commands to a living sweep.
tune_test(control_request_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/control_request_test.cc DEPS tune_control)
tune_test(asker_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/asker_test.cc DEPS tune_control)
tune_test(control_socket_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/control_socket_test.cc DEPS tune_control tune_core_posix)
tune_test(control_plan_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/control_plan_test.cc DEPS tune_control_plan)
tune_test(stored_snapshot_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/stored_snapshot_test.cc DEPS tune_queries)
