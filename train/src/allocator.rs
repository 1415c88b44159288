//! The memory of large tensors goes back to the system when they are freed.

/// Blocks from this size on are memory maps of their own.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: i32 = 1 << 20;

/// Makes glibc's allocator give large blocks back when they are freed. By default it learns to keep blocks of
/// up to 32 MiB, which then lie scattered: runs used up to 1.4 times the memory that they had allocated.
pub(crate) fn give_large_blocks_back() {
    // SAFETY: the function only sets a number of the allocator, under its lock.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[allow(unsafe_code, reason = "the option has no safe interface")]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}
