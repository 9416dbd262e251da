/* System calls that change files in one folder, counted; the n-th kills the process, is torn, or fails.
 *
 * Loaded by LD_PRELOAD, armed through fault_arm. Everything Python, NumPy and Arrow write goes through these functions of
 * the C library; test_every_call.py compares their number with what strace sees. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OFF, COUNT, KILL, TEAR, FAIL, FAIL_FROM };

static int mode = OFF, error_number;
static long wanted, seen;
static char folder[PATH_MAX];

void fault_arm(const char *where, int how, long n, int number) {
    snprintf(folder, sizeof folder, "%s", where);
    wanted = n, error_number = number, seen = 0;
    __atomic_store_n(&mode, how, __ATOMIC_SEQ_CST);
}

long fault_seen(void) { return seen; }

static int inside(const char *path) { return strncmp(path, folder, strlen(folder)) == 0; }

static int inside_fd(int fd) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return inside(path);
}

static int inside_at(int dir, const char *path) {
    return path[0] == '/' || dir == AT_FDCWD ? inside(path) : inside_fd(dir);
}

/* 0: go on; 1: fail with errno; 2: write half, then die */
static int strikes(int is_write, int needs_room) {
    long i = __atomic_add_fetch(&seen, 1, __ATOMIC_SEQ_CST);
    if (mode == FAIL_FROM && i >= wanted && needs_room) { errno = error_number; return 1; }
    if (i != wanted) return 0;
    if (mode == TEAR && is_write) return 2;
    if (mode == KILL || mode == TEAR) raise(SIGKILL);
    if (mode == FAIL) { errno = error_number; return 1; }
    return 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define STRIKE(concerned, room) if (mode != OFF && (concerned) && strikes(0, room)) return -1

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list args; va_start(args, flags); mode_t bits = va_arg(args, mode_t); va_end(args); \
        STRIKE((flags & O_CREAT) && inside(path), 1); \
        return REAL(name)(path, flags, bits); }
OPEN(open)
OPEN(open64)
#define OPENAT(name) \
    int name(int dir, const char *path, int flags, ...) { \
        va_list args; va_start(args, flags); mode_t bits = va_arg(args, mode_t); va_end(args); \
        STRIKE((flags & O_CREAT) && inside_at(dir, path), 1); \
        return REAL(name)(dir, path, flags, bits); }
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int fd, const void *data, size_t n) {
    if (mode != OFF && inside_fd(fd)) {
        int strike = strikes(1, 1);
        if (strike == 2) { REAL(write)(fd, data, n / 2); raise(SIGKILL); }
        if (strike) return -1;
    }
    return REAL(write)(fd, data, n);
}
ssize_t writev(int fd, const struct iovec *data, int n) { STRIKE(inside_fd(fd), 1); return REAL(writev)(fd, data, n); }
ssize_t pwrite64(int fd, const void *data, size_t n, off_t at) { STRIKE(inside_fd(fd), 1); return REAL(pwrite64)(fd, data, n, at); }
int fsync(int fd) { STRIKE(inside_fd(fd), 1); return REAL(fsync)(fd); }
int fdatasync(int fd) { STRIKE(inside_fd(fd), 1); return REAL(fdatasync)(fd); }
int ftruncate64(int fd, off_t n) { STRIKE(inside_fd(fd), 0); return REAL(ftruncate64)(fd, n); }
int ftruncate(int fd, off_t n) { STRIKE(inside_fd(fd), 0); return REAL(ftruncate)(fd, n); }
int fchmod(int fd, mode_t bits) { STRIKE(inside_fd(fd), 0); return REAL(fchmod)(fd, bits); }
int chmod(const char *path, mode_t bits) { STRIKE(inside(path), 0); return REAL(chmod)(path, bits); }
int rename(const char *old, const char *new) { STRIKE(inside(new), 1); return REAL(rename)(old, new); }
int renameat(int a, const char *old, int b, const char *new) { STRIKE(inside_at(b, new), 1); return REAL(renameat)(a, old, b, new); }
int link(const char *old, const char *new) { STRIKE(inside(new), 1); return REAL(link)(old, new); }
int unlink(const char *path) { STRIKE(inside(path), 0); return REAL(unlink)(path); }
int unlinkat(int dir, const char *path, int flags) { STRIKE(inside_at(dir, path), 0); return REAL(unlinkat)(dir, path, flags); }
int mkdir(const char *path, mode_t bits) { STRIKE(inside(path), 1); return REAL(mkdir)(path, bits); }
int mkdirat(int dir, const char *path, mode_t bits) { STRIKE(inside_at(dir, path), 1); return REAL(mkdirat)(dir, path, bits); }
int rmdir(const char *path) { STRIKE(inside(path), 0); return REAL(rmdir)(path); }
