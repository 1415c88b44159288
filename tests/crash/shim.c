/* Counts the writes, renames, syncs and other changes of files of a process that is started with this
 * library in LD_PRELOAD, and ends the process, or makes the call fail, at one of them.
 *
 * CRASH_BELOW  only calls with a path below this folder, or on files there, count
 * CRASH_AT     the number of the call, from 1; 0 only counts
 * CRASH_HOW    "kill": the process ends before the call, a write after half of its bytes;
 *              "fail": the call fails with "no space left on device"
 * CRASH_COUNT  file to which the number of calls is written at the end
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static long count;
static long at;
static int fails;
static const char *below;

__attribute__((constructor)) static void begin(void) {
    below = getenv("CRASH_BELOW");
    const char *number = getenv("CRASH_AT"), *how = getenv("CRASH_HOW");
    at = number ? atol(number) : 0;
    fails = how && strcmp(how, "fail") == 0;
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("CRASH_COUNT");
    FILE *out = path ? fopen(path, "w") : NULL;
    if (out) {
        fprintf(out, "%ld\n", count);
        fclose(out);
    }
}

/* Whether the path that a descriptor stands for is below the folder. */
static int counts_file(int fd) {
    char link[64], path[PATH_MAX];
    if (!below)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return strncmp(path, below, strlen(below)) == 0;
}

/* Relative paths are below the folder: the process works there. */
static int counts_path(const char *path) {
    return below && path && (path[0] != '/' || strncmp(path, below, strlen(below)) == 0);
}

/* Counts a call; whether it must fail. */
static int reached(void) {
    if (__sync_add_and_fetch(&count, 1) != at)
        return 0;
    if (!fails)
        kill(getpid(), SIGKILL);
    errno = ENOSPC;
    return 1;
}

#define REAL(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *bytes, size_t size) {
    if (counts_file(fd)) {
        if (__sync_add_and_fetch(&count, 1) == at) {
            REAL(ssize_t, write, int, const void *, size_t)(fd, bytes, size / 2);
            if (!fails)
                kill(getpid(), SIGKILL);
            errno = ENOSPC;
            return -1;
        }
    }
    return REAL(ssize_t, write, int, const void *, size_t)(fd, bytes, size);
}

ssize_t writev(int fd, const struct iovec *parts, int number) {
    if (counts_file(fd) && reached())
        return -1;
    return REAL(ssize_t, writev, int, const struct iovec *, int)(fd, parts, number);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t place) {
    if (counts_file(fd) && reached())
        return -1;
    return REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t)(fd, bytes, size, place);
}

#define ON_FILE(name)                                                                              \
    int name(int fd) {                                                                             \
        if (counts_file(fd) && reached())                                                          \
            return -1;                                                                             \
        return REAL(int, name, int)(fd);                                                           \
    }
ON_FILE(fsync)
ON_FILE(fdatasync)

int ftruncate64(int fd, off64_t size) {
    if (counts_file(fd) && reached())
        return -1;
    return REAL(int, ftruncate64, int, off64_t)(fd, size);
}

int rename(const char *from, const char *to) {
    if (counts_path(to) && reached())
        return -1;
    return REAL(int, rename, const char *, const char *)(from, to);
}

int unlink(const char *path) {
    if (counts_path(path) && reached())
        return -1;
    return REAL(int, unlink, const char *)(path);
}

int unlinkat(int folder, const char *path, int flags) {
    if (counts_path(path) && reached())
        return -1;
    return REAL(int, unlinkat, int, const char *, int)(folder, path, flags);
}

int mkdir(const char *path, mode_t mode) {
    if (counts_path(path) && reached())
        return -1;
    return REAL(int, mkdir, const char *, mode_t)(path, mode);
}

int linkat(int from, const char *old, int to, const char *new, int flags) {
    if (counts_path(new) && reached())
        return -1;
    return REAL(int, linkat, int, const char *, int, const char *, int)(from, old, to, new, flags);
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = va_arg(rest, int);
    va_end(rest);
    if ((flags & O_CREAT) && counts_path(path) && reached())
        return -1;
    return REAL(int, open64, const char *, int, ...)(path, flags, mode);
}
