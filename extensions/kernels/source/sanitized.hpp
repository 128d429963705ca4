// Whether this is a build for a sanitizer, which sees less of what is clever: memory that is used again without being freed,
// and OpenMP's threads, whose library is not instrumented.
#pragma once

namespace workbench {

#if defined(WORKBENCH_SANITIZE_address) || defined(WORKBENCH_SANITIZE_thread)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

}  // namespace workbench
