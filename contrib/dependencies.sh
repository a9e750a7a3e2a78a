# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Sourced by quickstart and check: installs what is missing, through the system's own package manager.

# missing WHAT...: which of the named things are not there: commands, lib:PKG-CONFIG-NAME, perl:MODULE, or sanitizers
# for clang's runtime.
missing() {
	for what in "$@"; do
		case $what in
		perl:*) perl -e "use ${what#perl:}" >/dev/null 2>&1 || printf '%s ' "$what" ;;
		sanitizers)
			echo 'int main(void) { return 0; }' |
				clang -fsanitize=address,undefined -x c -o /dev/null - >/dev/null 2>&1 || printf '%s ' "$what"
			;;
		hprof-conv) # Debian keeps it out of the path
			command -v hprof-conv >/dev/null 2>&1 || [ -x /usr/lib/android-sdk/platform-tools/hprof-conv ] ||
				printf '%s ' "$what"
			;;
		lib:*) command -v pkg-config >/dev/null 2>&1 && pkg-config --exists "${what#lib:}" || printf '%s ' "$what" ;;
		*) command -v "$what" >/dev/null 2>&1 || printf '%s ' "$what" ;;
		esac
	done
}

# package MANAGER WHAT: the package that brings a thing.
package() {
	case $1:$2 in
	*:cc) echo gcc ;;
	apt:autoreconf) echo autoconf automake ;;
	*:autoreconf) echo autoconf automake ;;
	apt:pkg-config) echo pkg-config ;;
	dnf:pkg-config) echo pkgconf-pkg-config ;;
	pacman:pkg-config) echo pkgconf ;;
	*:fusermount3) echo fuse3 ;;
	apt:lib:fuse3) echo libfuse3-dev ;;
	dnf:lib:fuse3) echo fuse3-devel ;;
	pacman:lib:fuse3) echo fuse3 ;;
	apt:lib:cmocka) echo libcmocka-dev ;;
	dnf:lib:cmocka) echo libcmocka-devel ;;
	pacman:lib:cmocka) echo cmocka ;;
	apt:lib:zlib) echo zlib1g-dev ;;
	dnf:lib:zlib) echo zlib-devel ;;
	pacman:lib:zlib) echo zlib ;;
	apt:lib:libpng) echo libpng-dev ;;
	dnf:lib:libpng) echo libpng-devel ;;
	pacman:lib:libpng) echo libpng ;;
	apt:lib:liblz4) echo liblz4-dev ;;
	dnf:lib:liblz4) echo lz4-devel ;;
	pacman:lib:liblz4) echo lz4 ;;
	dnf:shellcheck) echo ShellCheck ;;
	*:xfs_io) echo xfsprogs ;;
	apt:adb) echo adb ;;
	dnf:adb | pacman:adb) echo android-tools ;;
	apt:mtree) echo mtree-netbsd ;;
	apt:convert | pacman:convert) echo imagemagick ;;
	dnf:convert) echo ImageMagick ;;
	dnf:ffmpeg) echo ffmpeg-free ;;
	apt:xz) echo xz-utils ;;
	apt:protoc | dnf:protoc) echo protobuf-compiler ;;
	pacman:protoc) echo protobuf ;;
	*:perl:*) echo perl ;;
	apt:sanitizers) echo libclang-rt-dev ;;
	dnf:sanitizers | pacman:sanitizers) echo compiler-rt ;;
	*:python3) echo python3 ;;
	dnf:sqlite3 | pacman:sqlite3) echo sqlite ;;
	*:setfattr) echo attr ;;
	*:file) echo file ;;
	apt:javac) echo default-jdk-headless ;;
	dnf:javac) echo java-devel ;;
	pacman:javac) echo jdk-openjdk ;;
	*) echo "$2" ;;
	esac
}

# require WHAT...: makes sure that all of it is there, or says what to run and ends.
require() {
	absent=$(missing "$@")
	[ -n "$absent" ] || return 0
	for manager in apt dnf pacman none; do
		[ "$manager" = none ] || ! command -v "$manager" >/dev/null 2>&1 || break
	done
	packages=
	for what in $absent; do
		packages="$packages $(package "$manager" "$what")"
	done
	root=
	[ "$(id -u)" -eq 0 ] || root="sudo "
	case $manager in
	apt)
		echo "Installing:$packages"
		# shellcheck disable=SC2086 # a word, or none
		$root apt-get update -qq
		# shellcheck disable=SC2086 # a list of words
		$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
		;;
	dnf)
		echo "Missing: $absent- run this first: ${root}dnf install$packages" >&2
		exit 1
		;;
	pacman)
		echo "Missing: $absent- run this first: ${root}pacman -S --needed$packages" >&2
		exit 1
		;;
	none)
		echo "Missing: $absent- install it with your package manager first" >&2
		exit 1
		;;
	esac
	absent=$(missing "$@")
	[ -z "$absent" ] || { echo "Still missing after the installation: $absent" >&2; exit 1; }
}

# build FOLDER [CONFIGURE OPTION...]: configures and builds into it. Quiet unless something fails.
build() {
	folder=$1
	shift
	mkdir -p "$folder"
	log=$(cd "$folder" && pwd)/build.log
	if ! {
		{ [ -x configure ] && [ configure -nt configure.ac ] && [ Makefile.in -nt Makefile.am ]; } || autoreconf -fi
	} >"$log" 2>&1 ||
		! (source=$PWD && cd "$folder" && "$source/configure" "$@" && make -j "$(nproc 2>/dev/null || echo 2)") >>"$log" 2>&1; then
		tail -n 40 "$log" >&2
		echo "The build failed; all of its output is in $log" >&2
		exit 1
	fi
}
