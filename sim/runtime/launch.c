/* Starts simulators so that the program does not notice them.
 *
 * A simulator is no child of the program (wait() must not find it), has a session of its own (Ctrl-C is
 * for the program), none of the program's files but those of cosim.h, and dies with it: its watchdog
 * (vpi.c) sees the socket close or the program end.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "cosim.h"

extern char **environ;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int module_fd = -1, control_fd = -1;

static int nameless_file(const char *name, const char *begin, const char *end) {
  int fd = memfd_create(name, MFD_CLOEXEC);
  if (fd >= 0 && (size_t)(end - begin) > macah_file_limit())
    macah_die("cannot store the simulation: %s (ulimit -f)", strerror(EFBIG));
  while (fd >= 0 && begin < end) {
    ssize_t written = write(fd, begin, (size_t)(end - begin));
    if (written < 0 && errno != EINTR) macah_die("cannot store the simulation: %s", strerror(errno));
    if (written > 0) begin += written;
  }
  if (fd < 0) macah_die("cannot store the simulation: %s", strerror(errno));
  return fd;
}

/* What the program's user set for Python or cocotb is not meant for the simulator. */
static int is_foreign(const char *variable) {
  static const char *const prefixes[] = {"PYTHON", "COCOTB_", "GPI_", "PYGPI_", "MACAH_EXECUTION=", "LD_PRELOAD="};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0) return 1;
  return 0;
}

static char **make_environment(char *execution) {
  size_t count = 0;
  for (char **v = environ; v && *v; v++) count++;
  for (const char *const *v = macah_simulator_environment; *v; v++) count++;
  char **result = malloc((count + 2) * sizeof *result), **next = result;
  if (!result) macah_die("out of memory");
  for (char **v = environ; v && *v; v++)
    if (!is_foreign(*v)) *next++ = *v;
  for (const char *const *v = macah_simulator_environment; *v; v++) *next++ = (char *)(uintptr_t)*v;
  *next++ = execution;
  *next = NULL;
  return result;
}

/* fork() without the program's handlers, and without SIGCHLD at the end if `silent`. */
static pid_t bare_fork(int silent) { return (pid_t)syscall(SYS_clone, silent ? 0 : SIGCHLD, NULL, NULL, NULL, NULL); }

static void say(const char *text) {
  ssize_t ignored = write(2, text, strlen(text));
  (void)ignored;
}

/* In the simulator's process: system calls only. */
static void become(const int *files, int count, char **environment) {
  int safe[8];
  for (int i = 0; i < count; i++) safe[i] = fcntl(files[i], F_DUPFD, 16);
  for (int i = 0; i < count; i++) dup2(safe[i], i);
  if (syscall(SYS_close_range, (unsigned)count, ~0u, 0) < 0)
    for (int fd = count; fd < 65536; fd++) close(fd);
  sigset_t none;
  sigemptyset(&none);
  if (chdir("/") < 0) say("chdir failed\n");
  sigprocmask(SIG_SETMASK, &none, NULL);
  execve(macah_simulator_command[0], (char *const *)(uintptr_t)macah_simulator_command, environment);
  say("cannot run ");
  say(macah_simulator_command[0]);
  say(": ");
  say(strerrordesc_np(errno));
  say("\n");
}

static void start(const int *files, int count, char **environment, uint32_t *process) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); /* the program's handlers must not run in the new process */
  pid_t parent = bare_fork(1);
  if (parent == 0) {
    setsid();
    pid_t simulator = bare_fork(0);
    if (simulator == 0) become(files, count, environment);
    macah_store(process, (uint32_t)simulator);
    _exit(simulator < 0);
  }
  int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (parent < 0) macah_die("cannot start the simulator: %s", strerror(error));
  while (waitpid(parent, NULL, __WCLONE) < 0 && errno == EINTR) continue;
}

void macah_launch(struct macah_simulator *simulator, const struct macah_kernel *kernel) {
  pthread_mutex_lock(&lock);
  if (module_fd < 0) {
    module_fd = nameless_file("macah-module", macah_module, macah_module_end);
    control_fd = nameless_file("macah-control", macah_control, macah_control_end);
  }
  pthread_mutex_unlock(&lock);
  int sockets[2], null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
    macah_die("cannot start the simulator: %s", strerror(errno));
  int design = nameless_file("macah-design", kernel->design, kernel->design_end);
  simulator->log = nameless_file("macah-log", NULL, NULL);
  simulator->socket = sockets[0];
  char execution[48];
  snprintf(execution, sizeof execution, "MACAH_EXECUTION=%zu",
           (size_t)((char *)simulator->execution - (char *)macah_arena));
  char **environment = make_environment(execution);
  const int files[] = {null,   simulator->log, simulator->log, sockets[1],
                       macah_arena_fd, design, module_fd,      control_fd};
  start(files, sizeof files / sizeof *files, environment, &simulator->execution->process);
  simulator->process = (int)syscall(SYS_pidfd_open, simulator->execution->process, 0);
  if (simulator->process < 0 && errno == ESRCH) shutdown(simulator->socket, SHUT_RDWR);
  free(environment);
  close(sockets[1]);
  close(design);
  close(null);
}

void macah_simulator_failed(const struct macah_simulator *simulator, const struct macah_kernel *kernel,
                            const char *what) {
  static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&once); /* for ever: the first to see it speaks */
  /* What has not begun to watch over us would outlive us. */
  if (!macah_load(&simulator->execution->attached) && simulator->execution->process)
    kill((pid_t)simulator->execution->process, SIGKILL);
  char text[2001];
  off_t size = lseek(simulator->log, 0, SEEK_END);
  off_t from = size > 2000 ? size - 2000 : 0;
  ssize_t length = pread(simulator->log, text, sizeof text - 1, from);
  text[length > 0 ? length : 0] = 0;
  const char *more = length > 0 ? "; its last words:" : "", *end = length > 0 && text[length - 1] != '\n' ? "\n" : "";
  dprintf(2, "macah: the simulator of kernel '%s' %s%s\n%s%s", kernel->name, what, more, text, end);
  exit(1);
}
