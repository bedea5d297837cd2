// sweepsort.cpp - public functions that belong to no other file.
#include "sweepsort.hpp"

namespace sweepsort {

std::string_view name(Phase phase) {
  switch (phase) {
    case Phase::prepare: return "prepare";
    case Phase::read: return "read";
    case Phase::sort: return "sort";
    case Phase::scan: return "scan";
    case Phase::write: return "write";
    case Phase::verify: return "verify";
    case Phase::runs: return "runs";
    case Phase::merge: return "merge";
    case Phase::repeat: return "repeat";
    default: return "sync";
  }
}

}  // namespace sweepsort
