/* Where threads wait for each other, for the report of a deadlock.
 *
 * The linker leads the program's calls of these functions here (--wrap), and its line table tells where they stand.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "host.h"

#define NOTED(name, parameters, ...)                      \
  int __real_##name parameters __attribute__((weak));     \
  int __wrap_##name parameters;                           \
  int __wrap_##name parameters {                          \
    macah_store(&macah_me.call, (uintptr_t)__builtin_return_address(0)); \
    int result = __real_##name(__VA_ARGS__);              \
    macah_store(&macah_me.call, 0);                       \
    return result;                                        \
  }

NOTED(pthread_mutex_lock, (pthread_mutex_t *m), m)
NOTED(pthread_cond_wait, (pthread_cond_t *c, pthread_mutex_t *m), c, m)
NOTED(pthread_join, (pthread_t thread, void **result_of), thread, result_of)
NOTED(pthread_barrier_wait, (pthread_barrier_t *b), b)
NOTED(pthread_rwlock_rdlock, (pthread_rwlock_t *l), l)
NOTED(pthread_rwlock_wrlock, (pthread_rwlock_t *l), l)
NOTED(sem_wait, (sem_t *s), s)

extern char **environ;
extern const ElfW(Ehdr) __ehdr_start __attribute__((weak, visibility("hidden")));
extern const char etext __attribute__((weak));

/* Within the program's file; 0 if the call is in a library. */
static uintptr_t address_of(uintptr_t call) {
  uintptr_t begin = (uintptr_t)&__ehdr_start;
  if (!begin || call <= begin || call > (uintptr_t)&etext) return 0;
  return call - 1 - (__ehdr_start.e_type == ET_DYN ? begin : 0);
}

/* What binutils' addr2line says of an address in the program's file, in `text`. */
static void ask(uintptr_t address, char *text, size_t size) {
  char file[64], where[32];
  snprintf(file, sizeof file, "/proc/%d/exe", (int)getpid());
  snprintf(where, sizeof where, "%#lx", (unsigned long)address);
  char name[] = "addr2line", option[] = "-e", *arguments[] = {name, option, file, where, NULL};
  int pipe_of[2];
  if (pipe2(pipe_of, O_CLOEXEC) < 0) return;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_of[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t child;
  int failed = posix_spawnp(&child, name, &actions, NULL, arguments, environ);
  close(pipe_of[1]);
  size_t length = 0;
  for (ssize_t got; !failed && (got = read(pipe_of[0], text + length, size - 1 - length)) > 0;) length += (size_t)got;
  text[length] = 0;
  close(pipe_of[0]);
  if (!failed) waitpid(child, NULL, 0);
  posix_spawn_file_actions_destroy(&actions);
}

int macah_find_line(uintptr_t call, char *place, size_t size) {
  uintptr_t address = address_of(call);
  place[0] = 0;
  if (address) ask(address, place, size);
  char *colon = strchr(place, '\n');
  if (colon) *colon = 0;
  colon = strrchr(place, ':');
  unsigned long line = colon ? strtoul(colon + 1, NULL, 10) : 0;
  if (!line) return 0;
  *colon = 0;
  if (strncmp(place, "./", 2) == 0) memmove(place, place + 2, strlen(place) - 1);
  return (int)line;
}
