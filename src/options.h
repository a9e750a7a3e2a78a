/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options: heapfs's command line, with libfuse or without. Options that are not ours are kept for libfuse, in the form that
 * it reads: "-o" and a word, or a word that begins with "-".
 */
#ifndef HEAPFS_OPTIONS_H
#define HEAPFS_OPTIONS_H

#include "open.h"
#include "tree/tree.h"

struct options {
	char *dump, *mount_point, *export, *export_all;
	int help, version, strict, debug, foreground, single_thread, clone_fd, allow_other;
	/* As given, or NULL. */
	char *dump_number, *pid, *tmpdir, *unpacked, *mapping, *max_threads, *png_level, *uid, *gid, *links, *readdirplus,
		*graph_memory, *dominators, *time, *so_base, *baseline, *baseline_dump, *baseline_mapping, *baseline_time,
		*skip_root_levels;
	char **symbols, **pictures; /* paths */
	size_t symbol_count, picture_count;
	bool not_beside;	/* no pictures of the folder beside the dump */
	char **rest;		/* for libfuse */
	size_t rest_count;
	char *mounting;		/* one that only a mount has a use for, or NULL */
	unsigned extra;		/* arguments too many */
};

/* Reads all of it; of what is given twice, the last counts. 0, or -1 when it was said what is wrong. */
int options_parse(struct options *options, int argc, char **argv);
/* What the values mean. The options must outlive it. 0, or -1 when it was said what is wrong. */
struct settings {
	struct open_options open, baseline; /* the latter's path is NULL where there is none */
	struct tree_options tree;
	unsigned readdirplus;	/* yes, auto or no, in this order */
	unsigned max_threads;	/* 0: as many as there are cores */
};
int options_settings(const struct options *options, struct settings *settings);

void options_free(struct options *options);

#endif
