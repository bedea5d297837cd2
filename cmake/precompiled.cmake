# For a first build in half the time: headers of the system, compiled once for all targets, and small files, compiled
# several at once. Not for every day's work, because a file that forgets an #include then compiles all the same.

set(SWEEPSORT_PRECOMPILE OFF CACHE STRING
  "A faster first build: headers precompiled, files compiled together; TESTS: of headers the tests' alone")
set_property(CACHE SWEEPSORT_PRECOMPILE PROPERTY STRINGS ON OFF TESTS)

if(SWEEPSORT_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # The compiler collects its garbage only when half a GiB is full: sort_arrays_u32.cpp 21 -> 17 s; the others gain little.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-expand=100>
                      $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=524288>)
endif()

# What most files include.
set(system_headers <algorithm> <array> <atomic> <bit> <chrono> <cstddef> <cstdint> <cstring> <filesystem> <functional>
                   <limits> <memory> <mutex> <optional> <span> <string> <string_view> <thread> <utility> <vector>
                   <fmt/format.h>)

# precompiled_headers(NAME [OPTIONS ...] [LIBRARIES ...] [HEADERS ...] TARGETS ...): for TARGETS, those of them that there
# are, which are compiled with OPTIONS.
function(precompiled_headers name)
  if(NOT SWEEPSORT_PRECOMPILE OR (SWEEPSORT_PRECOMPILE STREQUAL "TESTS" AND NOT name STREQUAL "precompiled_for_tests"))
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

# compiled_together(TARGET [ALONE FILES ...]): its files by eights, but for those which give a name to something of their own
# that another gives, too.
function(compiled_together target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ALONE")
  if(SWEEPSORT_PRECOMPILE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
    set_source_files_properties(${arg_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# cuda_compiled_together(VARIABLE FILES ...): what to compile instead of FILES, into VARIABLE: one file that includes them, as
# CMake does it itself from 3.31 on. Where device code is optimised they are compiled side by side instead.
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
