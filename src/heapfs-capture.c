/* SPDX-License-Identifier: Apache-2.0 */
/* heapfs-capture: gets heap dumps and profiles from where they are made. */
#include "capture/capture.h"
#include "capture/say.h"
#include "capture/stop.h"
#include "open.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_help(FILE *out)
{
	fputs("usage: heapfs-capture [-s SERIAL] [PROCESS|PID] -o FILE [--mount DIR]\n"
	      "       heapfs-capture [-s SERIAL] --pixels-for DUMP [PROCESS|PID] -o FILE.pftrace\n"
	      "       heapfs-capture [-s SERIAL] --trace-config CONFIG -o FILE.pftrace [--mount DIR]\n"
	      "       heapfs-capture [-s SERIAL] --loli --app PACKAGE -o FILE.loli [--mount DIR]\n"
	      "       heapfs-capture --jvm PID -o FILE [--gz] [--all] [--mount DIR]\n"
	      "\n"
	      "Takes a heap dump, with its pictures, of an application on an Android device, through\n"
	      "adb. Without a process it lists those that can be dumped.\n"
	      "\n"
	      "  -s, --device SERIAL    the device, where there are several\n"
	      "  -o, --output FILE      what to write, which must not be there yet: an HPROF file, or\n"
	      "                         with a name that ends in .pftrace, a Perfetto trace that has\n"
	      "                         dump and pictures in one\n"
	      "      --mount DIR        mount it there when it is taken\n"
	      "      --no-gc            do not collect garbage first\n"
	      "      --bitmap-format png|jpg|webp   of the pictures, from Android 15 on (png)\n"
	      "      --no-pixels        no pictures (--pixels, with them, is how it is without)\n"
	      "      --pixels-time S    seconds for fetching pictures from Android 8 to 14 (60)\n"
	      "      --pixels-size N    bytes of them, or with K, M, G (64M)\n"
	      "      --pixels-for DUMP  only the pictures, for this dump of the same process\n"
	      "      --yes              do not ask; with --pixels-for take the device and process that fit\n"
	      "                         best\n"
	      "      --timeout S        seconds for the dump to be written, and without a byte while it\n"
	      "                         is brought here (120)\n"
	      "  -q, --quiet            show no progress\n"
	      "  -h, --help             this text\n"
	      "  -V, --version          version of heapfs\n"
	      "\n"
	      "By a Perfetto trace config in text form, as the device's own data source would:\n"
	      "\n"
	      "      --trace-config F   the config, - for standard input: each android.hprof_dump in it\n"
	      "                         is a dump, all of them in one trace\n"
	      "\n"
	      "Of a Java VM on this machine, also another user's (as root) or in a container:\n"
	      "\n"
	      "      --jvm PID          which\n"
	      "      --gz               the VM compresses the dump (Java 15 or later)\n"
	      "      --all              also objects that are not live\n"
	      "\n"
	      "A native profile, by LoliProfiler's agent, until --duration is over or Ctrl-C:\n"
	      "\n"
	      "      --loli             this\n"
	      "      --app PACKAGE      the application\n"
	      "      --subprocess NAME  its process PACKAGE:NAME\n"
	      "      --agent FILE       LoliProfiler's libloli.so for the device's kind of processor\n"
	      "      --config FILE      its configuration, instead of LoliProfiler's own loli3.conf\n"
	      "      --attach           the application runs already, with the agent in it\n"
	      "      --duration S       seconds\n"
	      "      --all              also allocations that were freed\n",
	      out);
}

enum { OPT_MOUNT = 256, OPT_NO_GC, OPT_FORMAT, OPT_PIXELS, OPT_NO_PIXELS, OPT_PIXELS_TIME, OPT_PIXELS_SIZE, OPT_PIXELS_FOR,
       OPT_YES, OPT_TIMEOUT, OPT_TRACE_CONFIG, OPT_JVM, OPT_GZ, OPT_ALL, OPT_LOLI, OPT_APP, OPT_SUBPROCESS, OPT_AGENT,
       OPT_CONFIG, OPT_ATTACH, OPT_DURATION };

static const struct option option_list[] = { { "device", required_argument, NULL, 's' },
					     { "output", required_argument, NULL, 'o' },
					     { "quiet", no_argument, NULL, 'q' },
					     { "help", no_argument, NULL, 'h' },
					     { "version", no_argument, NULL, 'V' },
					     { "mount", required_argument, NULL, OPT_MOUNT },
					     { "no-gc", no_argument, NULL, OPT_NO_GC },
					     { "bitmap-format", required_argument, NULL, OPT_FORMAT },
					     { "pixels", no_argument, NULL, OPT_PIXELS },
					     { "no-pixels", no_argument, NULL, OPT_NO_PIXELS },
					     { "pixels-time", required_argument, NULL, OPT_PIXELS_TIME },
					     { "pixels-size", required_argument, NULL, OPT_PIXELS_SIZE },
					     { "pixels-for", required_argument, NULL, OPT_PIXELS_FOR },
					     { "yes", no_argument, NULL, OPT_YES },
					     { "timeout", required_argument, NULL, OPT_TIMEOUT },
					     { "trace-config", required_argument, NULL, OPT_TRACE_CONFIG },
					     { "jvm", required_argument, NULL, OPT_JVM },
					     { "gz", no_argument, NULL, OPT_GZ },
					     { "all", no_argument, NULL, OPT_ALL },
					     { "loli", no_argument, NULL, OPT_LOLI },
					     { "app", required_argument, NULL, OPT_APP },
					     { "subprocess", required_argument, NULL, OPT_SUBPROCESS },
					     { "agent", required_argument, NULL, OPT_AGENT },
					     { "config", required_argument, NULL, OPT_CONFIG },
					     { "attach", no_argument, NULL, OPT_ATTACH },
					     { "duration", required_argument, NULL, OPT_DURATION },
					     { NULL, 0, NULL, 0 } };

/* What is captured: each but the first is asked for by an option. */
enum mode { MODE_APP, MODE_PIXELS, MODE_CONFIG, MODE_JVM, MODE_LOLI, MODES };

static const struct {
	int option;
	int (*capture)(const struct capture_options *options);
	int goes_with[16];	/* options, up to a 0, beside -o, -q and those that end the program */
} modes[MODES] = {
	{ 0, capture_app, { 's', OPT_MOUNT, OPT_NO_GC, OPT_FORMAT, OPT_PIXELS, OPT_NO_PIXELS, OPT_PIXELS_TIME, OPT_PIXELS_SIZE,
			    OPT_YES, OPT_TIMEOUT } },
	{ OPT_PIXELS_FOR, capture_pixels, { 's', OPT_FORMAT, OPT_PIXELS_TIME, OPT_PIXELS_SIZE, OPT_YES, OPT_TIMEOUT } },
	{ OPT_TRACE_CONFIG, capture_by_config, { 's', OPT_MOUNT, OPT_PIXELS_TIME, OPT_PIXELS_SIZE, OPT_YES, OPT_TIMEOUT } },
	{ OPT_JVM, capture_jvm, { OPT_MOUNT, OPT_GZ, OPT_ALL, OPT_TIMEOUT } },
	{ OPT_LOLI, capture_loli, { 's', OPT_MOUNT, OPT_APP, OPT_SUBPROCESS, OPT_AGENT, OPT_CONFIG, OPT_ATTACH, OPT_DURATION,
				    OPT_ALL, OPT_YES } },
};

#define OPTIONS (sizeof option_list / sizeof *option_list - 1)

/* Options that were given must be the mode's own. The mode, or MODES after a message. */
static enum mode find_mode(const bool given[OPTIONS], bool target)
{
	enum mode mode = MODE_APP;
	for (size_t i = 0; i < OPTIONS; i++) {
		for (unsigned j = 1; given[i] && j < MODES; j++) {
			if (modes[j].option == option_list[i].val && mode != MODE_APP) {
				say("only one of --pixels-for, --trace-config, --jvm and --loli");
				return MODES;
			}
			if (modes[j].option == option_list[i].val)
				mode = (enum mode)j;
		}
	}
	for (size_t i = 0; i < OPTIONS; i++) {
		const int option = option_list[i].val;
		bool fits = !given[i] || option == 'o' || option == 'q' || option == modes[mode].option;
		for (unsigned j = 0; !fits && modes[mode].goes_with[j]; j++)
			fits = modes[mode].goes_with[j] == option;
		if (fits)
			continue;
		for (unsigned j = 0; j < OPTIONS; j++)
			if (option_list[j].val == modes[mode].option) {
				say("--%s does not go with --%s; see heapfs-capture --help", option_list[i].name, option_list[j].name);
				return MODES;
			}
		say("--%s is not for dumps of applications; see heapfs-capture --help", option_list[i].name);
		return MODES;
	}
	if (target && mode != MODE_APP && mode != MODE_PIXELS) {
		say("too many arguments; see heapfs-capture --help");
		return MODES;
	}
	return mode;
}

/* A number of seconds above 0. */
static bool parse_seconds(const char *option, const char *value, unsigned *seconds)
{
	char *end;
	errno = 0;
	const unsigned long number = strtoul(value, &end, 10);
	*seconds = (unsigned)number;
	if (*value >= '0' && *value <= '9' && !*end && !errno && number && number <= INT_MAX / 1000)
		return true;
	say("%s %s: must be a number of seconds, 1 or more", option, value);
	return false;
}

/* A number of bytes, with K, M or G of those. */
static bool parse_size(const char *option, const char *value, uint64_t *bytes)
{
	static const char units[] = "KMG";
	char *end;
	errno = 0;
	const unsigned long long number = strtoull(value, &end, 10);
	const char *unit = *end ? strchr(units, *end) : NULL;
	const unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
	*bytes = (uint64_t)number << shift;
	if (*value >= '0' && *value <= '9' && !errno && number && !end[unit != NULL] && *bytes >> shift == number)
		return true;
	say("%s %s: must be a number of bytes, which may have K, M or G behind it", option, value);
	return false;
}

static bool parse_format(const char *value)
{
	if (!strcmp(value, "png") || !strcmp(value, "jpg") || !strcmp(value, "webp"))
		return true;
	say("--bitmap-format %s: must be png, jpg or webp", value);
	return false;
}

/* 0 to go on, else exit with this status less one. */
static int parse(int argc, char **argv, struct capture_options *options, enum mode *mode)
{
	int option;
	bool right = true, given[OPTIONS] = { false };
	while (right && (option = getopt_long(argc, argv, "s:o:qhV", option_list, NULL)) >= 0) {
		for (size_t i = 0; i < OPTIONS; i++)
			given[i] |= option_list[i].val == option;
		switch (option) {
		case 's':
			options->serial = optarg;
			break;
		case 'o':
			options->output = optarg;
			break;
		case 'q':
			say_quietly(true);
			break;
		case 'h':
			print_help(stdout);
			return 1 + CAPTURE_DONE;
		case 'V':
			printf("heapfs-capture %s\n", PACKAGE_VERSION);
			return 1 + CAPTURE_DONE;
		case OPT_MOUNT:
			options->mount = optarg;
			break;
		case OPT_NO_GC:
			options->no_gc = true;
			break;
		case OPT_FORMAT:
			options->bitmap_format = optarg;
			right = parse_format(optarg);
			break;
		case OPT_PIXELS:
		case OPT_NO_PIXELS:
			options->no_pixels = option == OPT_NO_PIXELS;
			break;
		case OPT_PIXELS_TIME:
			right = parse_seconds("--pixels-time", optarg, &options->pixels_seconds);
			break;
		case OPT_PIXELS_SIZE:
			right = parse_size("--pixels-size", optarg, &options->pixels_bytes);
			break;
		case OPT_PIXELS_FOR:
			options->pixels_for = optarg;
			break;
		case OPT_YES:
			options->yes = true;
			break;
		case OPT_TIMEOUT:
			right = parse_seconds("--timeout", optarg, &options->timeout);
			break;
		case OPT_JVM:
			options->jvm = optarg;
			break;
		case OPT_GZ:
			options->gz = true;
			break;
		case OPT_ALL:
			options->all = true;
			break;
		case OPT_TRACE_CONFIG:
			options->trace_config = optarg;
			break;
		case OPT_LOLI:
			break;
		case OPT_APP:
			options->app = optarg;
			break;
		case OPT_SUBPROCESS:
			options->subprocess = optarg;
			break;
		case OPT_AGENT:
			options->agent = optarg;
			break;
		case OPT_CONFIG:
			options->config = optarg;
			break;
		case OPT_ATTACH:
			options->attach = true;
			break;
		case OPT_DURATION:
			right = parse_seconds("--duration", optarg, &options->duration);
			break;
		default:
			say("see heapfs-capture --help");
			return 1 + CAPTURE_USAGE;
		}
	}
	if (right && optind + 1 < argc) {
		say("too many arguments; see heapfs-capture --help");
		right = false;
	}
	if (right && (*mode = find_mode(given, optind < argc)) == MODES)
		right = false;
	options->target = optind < argc ? argv[optind] : NULL;
	return right ? 0 : 1 + CAPTURE_USAGE;
}

int main(int argc, char **argv)
{
	struct capture_options options = { .bitmap_format = "png", .pixels_seconds = 60, .pixels_bytes = UINT64_C(64) << 20,
					   .timeout = 120 };
	enum mode mode = MODE_APP;
	guard_standard_descriptors();
	const int parsed = parse(argc, argv, &options, &mode);
	if (parsed)
		return parsed - 1;
	if (stop_install()) {
		say("signals: %s", strerror(errno));
		return CAPTURE_FAILED;
	}
	const int status = modes[mode].capture(&options);
	const int number = stop_signal();
	undo_all();
	step_end();
	if (!number || status == CAPTURE_DONE)
		return status;
	/* As the shell and make expect of a program that a signal ended. */
	say("stopped by signal %d (%s)", number, strsignal(number));
	signal(number, SIG_DFL);
	raise(number);
	return CAPTURE_FAILED;
}
