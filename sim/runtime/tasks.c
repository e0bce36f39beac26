/* What the threads of the process do, by the system's account. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "host.h"

enum { TRIES = 10 };

static char *read_text(const char *format, pid_t id, char *text, size_t size) {
  char name[64];
  snprintf(name, sizeof name, format, (int)id);
  int file = open(name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return NULL;
  ssize_t length = read(file, text, size - 1);
  close(file);
  if (length <= 0) return NULL;
  text[length] = 0;
  return text;
}

/* Futex operations that end only when another thread wakes the sleeper; the timeout is the fourth argument. */
static uintptr_t endless_futex(const char *call) {
  unsigned long number, address, operation, value, timeout;
  if (sscanf(call, "%lu %lx %lx %lx %lx", &number, &address, &operation, &value, &timeout) != 5) return 0;
  operation &= ~(unsigned long)(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);
  int waits = operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET || operation == FUTEX_LOCK_PI;
  return number == SYS_futex && waits && !timeout ? address : 0;
}

static enum macah_block kind_of(const char *call) {
  static const long movers[] = {SYS_read,  SYS_readv,  SYS_pread64,  SYS_recvfrom, SYS_recvmsg, SYS_write,
                                SYS_writev, SYS_pwrite64, SYS_sendto,   SYS_sendmsg,  SYS_fsync,   SYS_openat};
  long number;
  if (!call || sscanf(call, "%ld", &number) != 1 || number < 0) return MACAH_RUNS;
  for (size_t i = 0; i < sizeof movers / sizeof *movers; i++)
    if (number == movers[i]) return MACAH_MOVES_DATA;
  return MACAH_SLEEPS;
}

static uint64_t switches_of(pid_t id) {
  char text[4096];
  unsigned long long sum = 0, count;
  if (!read_text("/proc/self/task/%d/status", id, text, sizeof text)) return 0;
  for (const char *at = text; (at = strstr(at, "ctxt_switches:")); at++)
    if (sscanf(at, "ctxt_switches: %llu", &count) == 1) sum += count;
  return sum;
}

/* As in its `stat`; X if it is not there any more. */
static char state_of(pid_t id) {
  char text[512];
  const char *state = read_text("/proc/self/task/%d/stat", id, text, sizeof text);
  state = state ? strrchr(state, ')') : NULL;
  return state && state[1] && state[2] ? state[2] : 'X';
}

static int has_ended(pid_t id) { return strchr("ZX", state_of(id)) != NULL; }

static struct macah_task look_at(pid_t id) {
  char text[512];
  struct macah_task task = {.id = id, .switches = switches_of(id)};
  const char *call = read_text("/proc/self/task/%d/syscall", id, text, sizeof text);
  if (call) task.futex = endless_futex(call);
  task.blocked = kind_of(call);
  /* One that has been woken, but not yet taken by its processor, has its system call until then: it does not sleep. */
  if (task.blocked != MACAH_RUNS && state_of(id) == 'R') task.blocked = MACAH_RUNS;
  return task;
}

/* Those listed in the directory that have not ended, but our own threads; how many, or -1 if memory is short. */
static int list(DIR *directory, struct macah_task **tasks, unsigned long *listed) {
  int count = 0;
  *listed = 0;
  for (struct dirent *entry; (entry = readdir(directory));) {
    pid_t id = atoi(entry->d_name);
    if (id <= 0) continue;
    ++*listed;
    if (id == macah_referee || id == macah_watcher || has_ended(id)) continue;
    struct macah_task *more = realloc(*tasks, (size_t)(count + 1) * sizeof *more);
    if (!more) return -1;
    *tasks = more;
    more[count++] = look_at(id);
  }
  return count;
}

/* The directory has a link for each thread, and two more. */
static int has_links(DIR *directory, unsigned long threads) {
  struct stat about;
  return fstat(dirfd(directory), &about) || about.st_nlink == threads + 2;
}

int macah_list_tasks(struct macah_task **tasks) {
  DIR *directory = opendir("/proc/self/task");
  int count = -1;
  unsigned long listed;
  *tasks = NULL;
  /* Where a thread ends just then, the list lacks others. */
  for (int tries = 0; directory && tries < TRIES; tries++) {
    rewinddir(directory);
    count = list(directory, tasks, &listed);
    if (count < 0 || has_links(directory, listed)) break;
  }
  if (directory) closedir(directory);
  return count;
}

int macah_is_foreign(uintptr_t futex) {
  FILE *maps = fopen("/proc/self/maps", "re");
  if (!maps) return 1;
  char line[4200];
  int foreign = 0;
  while (fgets(line, sizeof line, maps)) {
    unsigned long from, to;
    char access[5];
    if (sscanf(line, "%lx-%lx %4s", &from, &to, access) == 3 && from <= futex && futex < to) foreign = access[3] == 's';
  }
  fclose(maps);
  return foreign;
}
