/*
 * Faults in the file operations of one process, for tests: preloaded, it fails, shortens or delays chosen calls on files
 * below a directory, and logs them all.
 *
 * MILLRACE_FAULT_DIR    only files below it are touched
 * MILLRACE_FAULT_RULES  a file, read again whenever it changes; one rule a line:
 *                         operation path-part first last action
 *                       applies to the calls number first..last since the file changed. Operations: write, sync, rename,
 *                       open (for creation), remove, make (a directory), truncate, any. Actions: an errno by number,
 *                       "short:N" (N bytes, or all but one, then no space), "kill", "kill-after".
 * MILLRACE_FAULT_LOG    a line for each call: operation, path below the directory, outcome
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RULES_MAX 16
#define PATH_BYTES 4096

struct rule {
  char operation[16];
  char part[256];
  char action[32];
  long first;
  long last;
  long seen;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rule rules[RULES_MAX];
static int rule_count;
static struct timespec loaded_at;
static off_t loaded_size = -1;
static ino_t loaded_inode;

static void load_rules(void) {
  const char *path = getenv("MILLRACE_FAULT_RULES");
  struct stat now;
  if (path == NULL || stat(path, &now) != 0) {
    rule_count = 0;
    loaded_size = -1;
    return;
  }
  if (now.st_size == loaded_size && now.st_ino == loaded_inode && now.st_mtim.tv_sec == loaded_at.tv_sec &&
      now.st_mtim.tv_nsec == loaded_at.tv_nsec)
    return;
  loaded_size = now.st_size;
  loaded_inode = now.st_ino;
  loaded_at = now.st_mtim;
  rule_count = 0;
  char text[8192];
  int file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
  if (file < 0) return;
  ssize_t length = syscall(SYS_read, file, text, sizeof text - 1);
  syscall(SYS_close, file);
  if (length <= 0) return;
  text[length] = 0;
  char *rest = NULL;
  for (char *line = strtok_r(text, "\n", &rest); line != NULL && rule_count < RULES_MAX;
       line = strtok_r(NULL, "\n", &rest)) {
    struct rule *rule = &rules[rule_count];
    rule->seen = 0;
    if (sscanf(line, "%15s %255s %ld %ld %31s", rule->operation, rule->part, &rule->first, &rule->last, rule->action) == 5)
      rule_count += 1;
  }
}

static const char *below(const char *path) {
  const char *root = getenv("MILLRACE_FAULT_DIR");
  if (root == NULL) return NULL;
  size_t length = strlen(root);
  return strncmp(path, root, length) == 0 ? path + length : NULL;
}

static void note(const char *operation, const char *path, const char *outcome) {
  const char *log = getenv("MILLRACE_FAULT_LOG");
  if (log == NULL) return;
  char line[PATH_BYTES + 64];
  int length = snprintf(line, sizeof line, "%s %s %s\n", operation, path, outcome);
  int file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (file < 0) return;
  syscall(SYS_write, file, line, length);
  syscall(SYS_close, file);
}

/* The action for a call on a path; empty when there is none. */
static void decide(const char *operation, const char *path, char *action) {
  action[0] = 0;
  pthread_mutex_lock(&lock);
  load_rules();
  for (int index = 0; index < rule_count; index += 1) {
    struct rule *rule = &rules[index];
    int any = strcmp(rule->operation, "any") == 0;
    if ((!any && strcmp(rule->operation, operation) != 0) || strstr(path, rule->part) == NULL) continue;
    rule->seen += 1;
    if (action[0] == 0 && rule->seen >= rule->first && rule->seen <= rule->last) strcpy(action, rule->action);
  }
  pthread_mutex_unlock(&lock);
  if (strcmp(action, "kill") == 0) kill(getpid(), SIGKILL);
}

/* Whether the call is to fail: errno is set. */
static int refused(const char *operation, const char *path, const char *action) {
  int code = atoi(action);
  if (code == 0) return 0;
  note(operation, path, action);
  errno = code;
  return 1;
}

/* Keeps errno: the call may have failed by itself. */
static void finish(const char *operation, const char *path, const char *action) {
  int code = errno;
  note(operation, path, "ok");
  if (strcmp(action, "kill-after") == 0) kill(getpid(), SIGKILL);
  errno = code;
}

static const char *path_of(int file, char *path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, PATH_BYTES - 1);
  if (length <= 0) return NULL;
  path[length] = 0;
  return below(path);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t position) {
  char buffer[PATH_BYTES], action[32];
  const char *path = path_of(file, buffer);
  if (path == NULL) return syscall(SYS_pwrite64, file, bytes, count, position);
  decide("write", path, action);
  if (refused("write", path, action)) return -1;
  if (strncmp(action, "short:", 6) == 0) {
    /* The system library writes on after a short write; only the error that follows leaves it short. */
    static __thread int again;
    again = !again;
    if (!again) {
      note("write", path, "28");
      errno = ENOSPC;
      return -1;
    }
    note("write", path, action);
    size_t some = (size_t)atol(action + 6);
    return syscall(SYS_pwrite64, file, bytes, some < count ? some : count - 1, position);
  }
  ssize_t written = syscall(SYS_pwrite64, file, bytes, count, position);
  finish("write", path, action);
  return written;
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t position) {
  return pwrite64(file, bytes, count, position);
}

static int synchronize(long number, int file) {
  char buffer[PATH_BYTES], action[32];
  const char *path = path_of(file, buffer);
  if (path == NULL) return syscall(number, file);
  decide("sync", path, action);
  if (refused("sync", path, action)) return -1;
  int result = syscall(number, file);
  finish("sync", path, action);
  return result;
}

int fdatasync(int file) { return synchronize(SYS_fdatasync, file); }

int fsync(int file) { return synchronize(SYS_fsync, file); }

int rename(const char *from, const char *to) {
  char action[32];
  const char *path = below(to);
  if (path == NULL) return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
  decide("rename", path, action);
  if (refused("rename", path, action)) return -1;
  int result = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
  finish("rename", path, action);
  return result;
}

static int drop(const char *name, int flags) {
  char action[32];
  const char *path = below(name);
  if (path == NULL) return syscall(SYS_unlinkat, AT_FDCWD, name, flags);
  decide("remove", path, action);
  if (refused("remove", path, action)) return -1;
  int result = syscall(SYS_unlinkat, AT_FDCWD, name, flags);
  finish("remove", path, action);
  return result;
}

int unlink(const char *name) { return drop(name, 0); }

int rmdir(const char *name) { return drop(name, AT_REMOVEDIR); }

int mkdir(const char *name, mode_t mode) {
  char action[32];
  const char *path = below(name);
  if (path == NULL) return syscall(SYS_mkdirat, AT_FDCWD, name, mode);
  decide("make", path, action);
  if (refused("make", path, action)) return -1;
  int result = syscall(SYS_mkdirat, AT_FDCWD, name, mode);
  finish("make", path, action);
  return result;
}

int ftruncate64(int file, off64_t size) {
  char buffer[PATH_BYTES], action[32];
  const char *path = path_of(file, buffer);
  if (path == NULL) return syscall(SYS_ftruncate, file, size);
  decide("truncate", path, action);
  if (refused("truncate", path, action)) return -1;
  int result = syscall(SYS_ftruncate, file, size);
  finish("truncate", path, action);
  return result;
}

int open64(const char *name, int flags, ...) {
  mode_t mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list rest;
    va_start(rest, flags);
    mode = va_arg(rest, mode_t);
    va_end(rest);
  }
  char action[32];
  const char *path = flags & O_CREAT ? below(name) : NULL;
  if (path == NULL) return syscall(SYS_openat, AT_FDCWD, name, flags, mode);
  decide("open", path, action);
  if (refused("open", path, action)) return -1;
  int file = syscall(SYS_openat, AT_FDCWD, name, flags, mode);
  finish("open", path, action);
  return file;
}
