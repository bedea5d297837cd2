# For a first build in half the time: system headers are compiled once for all targets, and small files are compiled
# several at once. Not for daily work, because a file that lacks an #include compiles nevertheless.

set(SWEEPSORT_PRECOMPILE OFF CACHE STRING
  "A faster first build: headers precompiled, files compiled together; TESTS: of headers the tests' alone")
set_property(CACHE SWEEPSORT_PRECOMPILE PROPERTY STRINGS ON OFF TESTS)

if(SWEEPSORT_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # The compiler collects its garbage only when half a GiB is full: sort_arrays_u32.cpp 21 -> 17 s; other files gain
  # little.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-expand=100>
                      $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=524288>)
endif()

# What most files include.
set(system_headers <algorithm> <array> <atomic> <bit> <chrono> <cstddef> <cstdint> <cstring> <filesystem> <functional>
                   <limits> <memory> <mutex> <optional> <span> <string> <string_view> <thread> <utility> <vector>
                   <fmt/format.h>)

# precompiled_headers(NAME [OPTIONS ...] [LIBRARIES ...] [HEADERS ...] TARGETS ...): for those TARGETS that exist. They
# are compiled with OPTIONS.
function(precompiled_headers name)
  if(NOT SWEEPSORT_PRECOMPILE OR (SWEEPSORT_PRECOMPILE STREQUAL "TESTS" AND NOT name STREQUAL "precompiled_for_tests"))
    return()
  endif()
  find_package(fmt REQUIRED)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "OPTIONS;LIBRARIES;HEADERS;TARGETS")
  set(targets "")
  foreach(target IN LISTS arg_TARGETS)
    if(TARGET ${target})
      list(APPEND targets ${target})
    endif()
  endforeach()
  if(NOT targets)  # nor has anything looked for what HEADERS need
    return()
  endif()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  file(GENERATE OUTPUT ${source} CONTENT "")
  add_library(${name} OBJECT ${source})
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  target_link_libraries(${name} PRIVATE fmt::fmt ${arg_LIBRARIES})
  target_precompile_headers(${name} PRIVATE ${system_headers} ${arg_HEADERS})
  foreach(target IN LISTS targets)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endforeach()
endfunction()

# compiled_together(TARGET [ALONE FILES ...]): compiles its files in groups of eight. ALONE are those files that define
# a name that another file defines, too.
function(compiled_together target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ALONE")
  if(SWEEPSORT_PRECOMPILE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
    set_source_files_properties(${arg_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# cuda_compiled_together(VARIABLE FILES ...): sets VARIABLE to what is compiled instead of FILES: one file that includes
# them, as CMake itself does from 3.31 on. If device code is optimised, FILES are compiled side by side instead.
function(cuda_compiled_together variable)
  if(SWEEPSORT_PRECOMPILE STREQUAL "ON" AND SWEEPSORT_CUDA_FAST_COMPILE)
    list(TRANSFORM ARGN REPLACE ".+" "#include \"${CMAKE_CURRENT_SOURCE_DIR}/\\0\"" OUTPUT_VARIABLE lines)
    list(JOIN lines "\n" text)
    file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${variable}.cu CONTENT "${text}\n")
    set(${variable} ${CMAKE_CURRENT_BINARY_DIR}/${variable}.cu PARENT_SCOPE)
  else()
    set(${variable} ${ARGN} PARENT_SCOPE)
  endif()
endfunction()
