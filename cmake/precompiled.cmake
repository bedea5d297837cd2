# Headers of the system, compiled once for all targets: reading them is a third of a first build. Not for every day's work,
# because a file that forgets an #include then compiles all the same; scripts/test has one build with and one without.

option(SWEEPSORT_PRECOMPILE "Precompile the headers of the system: a faster first build" OFF)

# What most files include.
set(system_headers <algorithm> <array> <atomic> <bit> <chrono> <cstddef> <cstdint> <cstring> <filesystem> <functional>
                   <limits> <memory> <mutex> <optional> <span> <string> <string_view> <thread> <utility> <vector>
                   <fmt/format.h>)

# precompiled_headers(NAME [OPTIONS ...] [LIBRARIES ...] [HEADERS ...] TARGETS ...): for TARGETS, those of them that there
# are, which are compiled with OPTIONS.
function(precompiled_headers name)
  if(NOT SWEEPSORT_PRECOMPILE)
    return()
  endif()
  find_package(fmt REQUIRED)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "OPTIONS;LIBRARIES;HEADERS;TARGETS")
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  file(GENERATE OUTPUT ${source} CONTENT "")
  add_library(${name} OBJECT ${source})
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  target_link_libraries(${name} PRIVATE fmt::fmt ${arg_LIBRARIES})
  target_precompile_headers(${name} PRIVATE ${system_headers} ${arg_HEADERS})
  foreach(target IN LISTS arg_TARGETS)
    if(TARGET ${target})
      target_precompile_headers(${target} REUSE_FROM ${name})
    endif()
  endforeach()
endfunction()
