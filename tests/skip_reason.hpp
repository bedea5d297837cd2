// skip_reason.hpp - how a test program says that it cannot run here.
#pragma once

#include <string>

namespace sweepsort {

/// Why no test of this program can run; empty if they can. catch_main.cpp asks before anything else. Defined
/// by no_skip_reason.cpp, unless the program has its own definition.
std::string skip_reason();

}  // namespace sweepsort
