# Commands to a living sweep: what is asked and answered, and the socket between.
tune_library(tune_control
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/control/asker.cc
    ${CMAKE_CURRENT_LIST_DIR}/control/control_client.cc
    ${CMAKE_CURRENT_LIST_DIR}/control/control_request.cc
    ${CMAKE_CURRENT_LIST_DIR}/control/control_server.cc
    ${CMAKE_CURRENT_LIST_DIR}/control/control_socket.cc
  DEPS tune_core_posix tune_sweep_labels)

# What a command does to a sweep, living or at rest.
tune_library(tune_control_plan
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/control/control_plan.cc
  DEPS tune_control tune_controller tune_spec)
