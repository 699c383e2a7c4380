# Serving the page: the server, who may see it, and the page's files, which npm builds from web/.
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
find_program(TUNE_NPM npm REQUIRED)
file(GLOB_RECURSE web_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/web/src/*)
list(APPEND web_sources ${PROJECT_SOURCE_DIR}/web/index.html ${PROJECT_SOURCE_DIR}/web/vite.config.ts
  ${PROJECT_SOURCE_DIR}/web/tsconfig.json)
set(web ${CMAKE_BINARY_DIR}/web)
# The build's own copy: npm writes beside what it reads.
add_custom_command(OUTPUT ${web}/installed
  COMMAND ${CMAKE_COMMAND} -E make_directory ${web}
  COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/web/package.json ${PROJECT_SOURCE_DIR}/web/package-lock.json ${web}
  COMMAND ${TUNE_NPM} ci --no-audit --no-fund --loglevel=error --prefix ${web}
  COMMAND ${CMAKE_COMMAND} -E touch ${web}/installed
  DEPENDS ${PROJECT_SOURCE_DIR}/web/package.json ${PROJECT_SOURCE_DIR}/web/package-lock.json
  COMMENT "Fetching what the page is built with (npm ci)" VERBATIM)
add_custom_command(OUTPUT ${web}/page_files.cc
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${web}/src ${web}/dist
  COMMAND ${CMAKE_COMMAND} -E copy_directory ${PROJECT_SOURCE_DIR}/web/src ${web}/src
  COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/web/index.html ${PROJECT_SOURCE_DIR}/web/vite.config.ts
    ${PROJECT_SOURCE_DIR}/web/tsconfig.json ${web}
  COMMAND ${TUNE_NPM} run build --silent --prefix ${web} -- --logLevel warn
  COMMAND ${CMAKE_COMMAND} -DFOLDER=${web}/dist -DOUT=${web}/page_files.cc -P ${PROJECT_SOURCE_DIR}/cmake/EmbedPage.cmake
  DEPENDS ${web}/installed ${web_sources} ${PROJECT_SOURCE_DIR}/cmake/EmbedPage.cmake
  COMMENT "Building the page" VERBATIM)
tune_library(tune_http
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/http/answer_pump.cc
    ${CMAKE_CURRENT_LIST_DIR}/http/client_protocol.cc
    ${CMAKE_CURRENT_LIST_DIR}/http/fair_places.cc
    ${CMAKE_CURRENT_LIST_DIR}/http/gzip.cc
    ${CMAKE_CURRENT_LIST_DIR}/http/beast_message.cc
    ${CMAKE_CURRENT_LIST_DIR}/http/http_client.cc
    ${CMAKE_CURRENT_LIST_DIR}/http/http_message.cc
    ${CMAKE_CURRENT_LIST_DIR}/http/http_server.cc
    ${CMAKE_CURRENT_LIST_DIR}/http/page_guard.cc
    ${web}/page_files.cc
  DEPS tune_core tune_network_address tune_version OpenSSL::SSL OpenSSL::Crypto ZLIB::ZLIB)
tune_library(tune_page
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/cli/head/again_request.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/head/client_keys.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/head/command_output.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/head/kept_heads.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/words/interrupt_words.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/head/login_command.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/words/outward_host.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/words/own_file.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/look/page_place.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/look/page_report_command.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/look/plot_command.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/head/remote_command.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/head/remote_files.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/run/secret_environment.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/head/ui_command.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/run/working_package.cc
    ${CMAKE_CURRENT_LIST_DIR}/page/aside.cc
    ${CMAKE_CURRENT_LIST_DIR}/page/chart.cc
    ${CMAKE_CURRENT_LIST_DIR}/page/chart_svg.cc
    ${CMAKE_CURRENT_LIST_DIR}/page/chart_text.cc
    ${CMAKE_CURRENT_LIST_DIR}/page/charts.cc
    ${CMAKE_CURRENT_LIST_DIR}/cli/head/client_api.cc
    ${CMAKE_CURRENT_LIST_DIR}/page/head_answers.cc
    ${CMAKE_CURRENT_LIST_DIR}/page/markdown_report.cc
    ${CMAKE_CURRENT_LIST_DIR}/page/metrics_page.cc
    ${CMAKE_CURRENT_LIST_DIR}/page/metric_ranges.cc
    ${CMAKE_CURRENT_LIST_DIR}/page/page_action.cc
    ${CMAKE_CURRENT_LIST_DIR}/page/page_api.cc
    ${CMAKE_CURRENT_LIST_DIR}/page/page_json.cc
    ${CMAKE_CURRENT_LIST_DIR}/page/report_file.cc
    ${CMAKE_CURRENT_LIST_DIR}/page/sweep_charts.cc
    ${CMAKE_CURRENT_LIST_DIR}/page/sweep_course.cc
    ${CMAKE_CURRENT_LIST_DIR}/page/sweep_summary.cc
    ${CMAKE_CURRENT_LIST_DIR}/page/trial_rows.cc
  DEPS tune_http tune_queries tune_package tune_housekeeping tune_control tune_tls tune_version tune_core_posix)
