/* argv -> row of the command table -> exit status; and the standard streams. */
#include "base/clean.h"
#include "cmd/cmd.h"

#include "base/str.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct command *const commands[] = {
    &command_compile, &command_prepare, &command_strip,  &command_merge, &command_check,  &command_inspect,
    &command_run,     &command_compare, &command_verify, &command_ops,   &command_convert, &command_expand};
enum { COMMANDS = sizeof commands / sizeof *commands };

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (str_equal(commands[i]->name, name))
            return commands[i];
    return NULL;
}

static int unknown_command(const char *name)
{
    const char *names[COMMANDS];
    for (size_t i = 0; i < COMMANDS; i++)
        names[i] = commands[i]->name;
    const char *close = str_closest(name, names, COMMANDS);
    say_text("stepc: unknown command '%s'%s%s%s\nTry 'stepc help'.\n", name, close ? "; did you mean '" : "",
             close ? close : "", close ? "'?" : "");
    return EXIT_USAGE;
}

static int help_all(void)
{
    print_text("stepc 0.1.0: training compiled ahead of time to plain C\n\nusage: stepc COMMAND ...\n\n");
    for (size_t i = 0; i < COMMANDS; i++)
        print_text("  %-9s %s\n", commands[i]->name, commands[i]->summary);
    print_text("\nMODEL is an ONNX file. 'stepc help COMMAND' prints the options of one command,\n"
               "'stepc help machines' what --machine knows.\n");
    return EXIT_DONE;
}

static int help(const char *name)
{
    if (str_equal(name, "machines")) {
        print_machines();
        return EXIT_DONE;
    }
    const struct command *c = find_command(name);
    if (!c)
        return unknown_command(name);
    print_text("%s\n\nusage: stepc %s %s\n\n", c->summary, c->name, c->arguments);
    options_print(c->options);
    if (c->notes)
        print_text("\n"), print_lines(c->notes);
    print_text("\nexample:\n  %s\n", c->example);
    return EXIT_DONE;
}

/* Anywhere: nobody wants what else the line says. */
static bool asks_for_help(int argc, char **argv)
{
    for (int i = 2; i < argc && !str_equal(argv[i], "--"); i++)
        if (str_equal(argv[i], "--help") || str_equal(argv[i], "-h"))
            return true;
    return false;
}

static int run(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "help";
    if (str_equal(name, "help") || str_equal(name, "--help") || str_equal(name, "-h")) {
        if (argc < 2)
            return help_all(), EXIT_USAGE;
        return argc > 2 ? help(argv[2]) : help_all();
    }
    if (str_equal(name, "--version")) {
        print_text("stepc 0.1.0\n");
        return EXIT_DONE;
    }
    const struct command *c = find_command(name);
    if (!c)
        return unknown_command(name);
    if (asks_for_help(argc, argv))
        return help(name);
    return run_command(c, argc - 1, argv + 1);
}

/* A file that is opened must not get the number of a stream that was closed for us: what is printed
 * would go into it. */
static void hold_streams(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDONLY);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* A parent that ignores SIGCHLD hands that down: we could not wait for our children. */
static void want_children(void)
{
    signal(SIGCHLD, SIG_DFL);
}

/* Whatever was printed must have arrived: a disk may be full. */
int main(int argc, char **argv)
{
    hold_streams();
    want_children();
    const int status = run(argc, argv);
    if (print_end())
        return status;
    say_text("stepc: standard output cannot be written: %s\n", strerror(errno));
    return status == EXIT_DONE ? EXIT_BAD : status;
}
