/* Holds a pod's namespaces open: waits for a signal, and collects processes that were left to it. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void leave(int signal) {
	(void)signal;
	_exit(0);
}

static void collect(int signal) {
	(void)signal;
	while (waitpid(-1, 0, WNOHANG) > 0) {
	}
}

int main(void) {
	signal(SIGINT, leave);
	signal(SIGTERM, leave);
	signal(SIGCHLD, collect);
	for (;;) {
		pause();
	}
}
