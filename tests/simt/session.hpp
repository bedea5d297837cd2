// session.hpp - the session that launches run in.
#pragma once

#include "simt/simt.hpp"

namespace simt {

/// The innermost session in scope, or a default one that schedules every launch alike.
Session& active_session();

}  // namespace simt
