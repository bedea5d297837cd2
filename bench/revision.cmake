# Writes the header that holds the source's revision. Run at every build; touches the header only when it changes, so
# that one small file is compiled again and nothing else. Variables: SOURCE, HEADER.
cmake_minimum_required(VERSION 3.25)
set(revision "unknown")
find_package(Git QUIET)
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} describe --always --dirty --tags
    OUTPUT_VARIABLE described RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed)
    set(revision "${described}")
  endif()
endif()
file(CONFIGURE OUTPUT ${HEADER} CONTENT
"// bench_revision.hpp - written by bench/revision.cmake.
#define SWEEPSORT_BENCH_REVISION \"@revision@\"
" @ONLY)
