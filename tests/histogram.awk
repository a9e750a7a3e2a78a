# SPDX-License-Identifier: Apache-2.0
#
# awk -v ... -f histogram.awk HISTOGRAM CLASSES.TSV (without its header): compares a JVM's class histogram with a
# mount. Prints two lines, counts and sizes: seen, a tab, expected.
#
# Counts: of each class in one of both, unless count_them=no; a class only in the mount is right if partial=yes.
# Sizes: of instances, bytes by count, wherever both have two or more (one object alone shows its distance to the next
# address, not its size); of arrays, all bytes, where both have equally many.
#
# -v other="CLASS=N ...": classes of which the dump truly holds another number than the histogram, and how many.
# -v unsized="CLASS ...": classes whose sizes are not compared.

# [Ljava.lang.String; as source has it
function source(name,  depth) {
	for (depth = ""; substr(name, 1, 1) == "["; name = substr(name, 2))
		depth = depth "[]"
	if (depth == "")
		return name
	if (substr(name, 1, 1) == "L")
		return substr(name, 2, length(name) - 2) depth
	return primitive[name] depth
}

# JVMs write ? or modified UTF-8 for what is not ASCII, control characters as they are, and at most 1,968 bytes.
# So: the printable ASCII of a name. Classes that become the same are summed, as are those of one name.
function plain(name) {
	gsub(/[^ -~]|\?/, "", name)
	return substr(name, 1, 1900)
}

function histogram_line(  number, size, name) {
	name = line
	sub(/^ *([0-9]+: +)?[0-9]+ +[0-9]+ +/, "", name)
	split(substr(line, 1, length(line) - length(name)), part, /[: ]+/)
	number = part[part[1] == "" ? 2 : 1]
	size = part[part[1] == "" ? 3 : 2]
	if (line ~ /^ *[0-9]+:/) {
		number = part[part[1] == "" ? 3 : 2]
		size = part[part[1] == "" ? 4 : 3]
	}
	sub(/ \([a-z][a-z0-9.]*(@[^ ()]*)?\)$/, "", name)	# the module
	if (name ~ /^</)	# what the VM itself had on the heap, up to JDK 7
		return
	name = source(name)
	sub(/\/0x/, "+0x", name)	# hidden classes
	if (name == "jdk.internal.vm.FillerElement[]")	# HotSpot fills gaps with it, and dumps it as int[]
		name = "int[]"
	name = plain(name)
	count[name] += number
	bytes[name] += size
}

function differs(what, name, is, should) {
	list[what] = list[what] sprintf("; %s %s instead of %s", substr(name, 1, 80), is, should)
}

BEGIN {
	FS = "\t"
	for (n = split("Z boolean B byte C char S short I int J long F float D double", part, " "); n > 0; n -= 2)
		primitive[part[n - 1]] = part[n]
	n = split(other, part, " ")
	while (n) {
		at = index(part[n], "=")
		true_count[substr(part[n], 1, at - 1)] = substr(part[n], at + 1)
		n--
	}
	for (n = split(unsized, part, " "); n > 0; n--)
		no_size[part[n]] = 1
}

{ sub(/\r$/, "") }

# A name with a line end in it goes on in the next line.
FNR == NR && /^ *([0-9]+: +)?[0-9]+ +[0-9]+ +[^ ]/ { if (line != "") histogram_line(); line = $0; next }
FNR == NR && /^Total|^-----|^[0-9]+:$| num / { if (line != "") histogram_line(); line = ""; next }
FNR == NR { if (line != "") line = line $0; next }

FNR == 1 { if (line != "") histogram_line() }
{
	name = $1
	gsub(/\\\\/, "\001", name)
	gsub(/\\u[0-9a-f][0-9a-f][0-9a-f][0-9a-f]|\\[ntr]/, "", name)
	gsub(/\001/, "\\", name)
	name = plain(name)
	seen[name] += $3
	seen_bytes[name] += $4
}

END {
	# Its instances are in the dump as classes, save the nine of primitive types; their sizes are not.
	delete count["java.lang.Class"]
	delete seen["java.lang.Class"]
	for (name in seen)
		if (seen[name] && !(name in count) && partial != "yes")
			differs("counts", name, seen[name], 0)
	for (name in count) {
		should = name in true_count ? true_count[name] : count[name]
		counted++
		if (seen[name] + 0 != should)
			differs("counts", name, seen[name] + 0, should)
		if (name in no_size || count[name] < 2 || seen[name] < 2)
			continue
		if (name ~ /\[\]$/) {
			if (count[name] != seen[name])
				continue
			is = seen_bytes[name]
			should = bytes[name]
		} else {
			is = seen_bytes[name] / seen[name]
			should = bytes[name] / count[name]
		}
		sized++
		if (is != should)
			differs("sizes", name, is, should)
	}
	if (count_them != "no")
		printf "%d classes%s\t%d classes\n", counted, list["counts"], counted
	printf "%d classes%s\t%d classes\n", sized, list["sizes"], sized
}
