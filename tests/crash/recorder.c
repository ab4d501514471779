/* Loaded before the C library: writes down what a program does to the files in one folder, in order, so that a
 * test can work out what a disk may hold when the power fails at any moment. Also ends the program at a chosen
 * one of these operations.
 *
 * RECORD_FOLDER: the folder.  RECORD_LOG: the file for the records.  RECORD_KILL: number of the operation
 * of the first process before which the program is killed; a write is done by half first.
 *
 * A record: one letter, process and number of the file, offset, length, then `length` bytes.
 *   o  opened: the bytes are its path    w  written at offset    t  cut to `offset` bytes
 *   s  synced                            u  removed: the bytes are its path
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define MOST 4096

static int (*real_open)(const char *, int, ...);
static ssize_t (*real_pwrite)(int, const void *, size_t, off64_t);
static ssize_t (*real_write)(int, const void *, size_t);
static int (*real_truncate)(int, off64_t);
static int (*real_fsync)(int);
static int (*real_unlink)(const char *);

static const char *folder;
static int record_log = -1;
static long kill_at, done;
static char watched[MOST];

__attribute__((constructor)) static void begin(void) {
    real_open = dlsym(RTLD_NEXT, "open64");
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_write = dlsym(RTLD_NEXT, "write");
    real_truncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_unlink = dlsym(RTLD_NEXT, "unlink");
    folder = getenv("RECORD_FOLDER");
    const char *path = getenv("RECORD_LOG");
    const char *number = getenv("RECORD_KILL");
    kill_at = number ? atol(number) : 0;
    /* Programs that this one starts are recorded but not killed. */
    unsetenv("RECORD_KILL");
    if (folder && path) record_log = real_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void put(char kind, int file, uint64_t offset, const void *bytes, uint32_t length) {
    char head[21];
    uint32_t process = (uint32_t)getpid(), number = (uint32_t)file;
    head[0] = kind;
    memcpy(head + 1, &process, 4);
    memcpy(head + 5, &number, 4);
    memcpy(head + 9, &offset, 8);
    memcpy(head + 17, &length, 4);
    if (real_write(record_log, head, sizeof head) != sizeof head) abort();
    if (length && real_write(record_log, bytes, length) != (ssize_t)length) abort();
}

static int ours(int file) { return record_log >= 0 && file >= 0 && file < MOST && watched[file]; }

static int last(void) { return ++done == kill_at; }

static void end(void) { kill(getpid(), SIGKILL); }

int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = (flags & O_CREAT) ? va_arg(more, mode_t) : 0;
    va_end(more);
    int file = real_open(path, flags, mode);
    if (file >= 0 && file < MOST) {
        watched[file] = 0;
        const char *name = strrchr(path, '/');
        /* The index of the log is memory shared by programs: nothing of it is on the disk after a crash. */
        if (record_log >= 0 && strncmp(path, folder, strlen(folder)) == 0 && !strstr(name ? name : path, "-shm")) {
            watched[file] = 1;
            put('o', file, 0, path, (uint32_t)strlen(path));
        }
    }
    return file;
}

int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = (flags & O_CREAT) ? va_arg(more, mode_t) : 0;
    va_end(more);
    return open64(path, flags, mode);
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t offset) {
    if (ours(file)) {
        if (last()) {
            real_pwrite(file, bytes, length / 2, offset);
            end();
        }
        put('w', file, (uint64_t)offset, bytes, (uint32_t)length);
    }
    return real_pwrite(file, bytes, length, offset);
}

ssize_t write(int file, const void *bytes, size_t length) {
    if (ours(file)) put('w', file, (uint64_t)lseek64(file, 0, SEEK_CUR), bytes, (uint32_t)length);
    return real_write(file, bytes, length);
}

int ftruncate64(int file, off64_t size) {
    if (ours(file)) {
        if (last()) end();
        put('t', file, (uint64_t)size, NULL, 0);
    }
    return real_truncate(file, size);
}

int fsync(int file) {
    if (ours(file)) {
        if (last()) end();
        put('s', file, 0, NULL, 0);
    }
    return real_fsync(file);
}

int unlink(const char *path) {
    if (record_log >= 0 && strncmp(path, folder, strlen(folder)) == 0 && !strstr(path, "-shm")) {
        if (last()) end();
        put('u', 0, 0, path, (uint32_t)strlen(path));
    }
    return real_unlink(path);
}
