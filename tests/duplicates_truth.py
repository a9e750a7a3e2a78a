# SPDX-License-Identifier: Apache-2.0
#
# duplicates_truth.py DUMP_FOLDER: computes duplicates/strings.tsv and arrays.tsv anew from the tree's other files:
# strings/strings.tsv, value.txt, data.bin and the instances.tsv of java.lang.String and of the arrays. Prints a line for
# each difference, and last how many lines were compared. Nothing here reads the dump, hashes anything, or knows how
# duplicates/ is made.

import os
import sys

folder = sys.argv[1]
TYPES = ("boolean", "char", "float", "double", "byte", "short", "int", "long")
differences = []


def rows(path):
    """Lines of a table as dictionaries; [] where there is none."""
    try:
        with open(os.path.join(folder, path), encoding="utf-8", newline="\n") as file:
            lines = file.read().split("\n")
    except FileNotFoundError:
        return []
    head = lines[0].split("\t")
    if lines.pop() != "":
        differences.append("%s does not end in a line feed" % path)
    return [dict(zip(head, line.split("\t"))) for line in lines[1:]]


def object_file(number, name):
    path = "objects/%x/%x/0x%x/%s" % (number >> 28, number >> 16 & 0xfff, number, name)
    with open(os.path.join(folder, path), "rb") as file:
        return file.read()


def grouped(pairs):
    groups = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


### Arrays: size by id

arrays = {}  # id: (type, length, shallow)
for name in TYPES:
    for row in rows("classes/%s[]/instances.tsv" % name):
        arrays[int(row["id"], 16)] = (name + "[]", int(row["length"]), int(row["shallow"]))

### Strings

strings = {}  # id: (array, shallow)
for row in rows("classes/java.lang.String/instances.tsv"):
    value = row.get("value", "null")
    strings[int(row["id"], 16)] = (int(value, 16) if value != "null" else 0, int(row["shallow"]))


def whole_text(row):
    if row["length"] == "-":
        return None
    if int(row["length"]) > 1024:
        return object_file(int(row["id"], 16), "value.txt")
    return row["text"]


expected = []
for text, ids in grouped((whole_text(row), int(row["id"], 16)) for row in rows("strings/strings.tsv")).items():
    if text is None or len(ids) < 2:
        continue
    held = {strings[number][0] for number in ids}
    size = strings[ids[0]][1]
    total = size * len(ids) + sum(arrays[number][2] for number in held)
    expected.append({"count": str(len(ids)), "bytes": str(total), "id": "0x%x" % min(ids),
                     "wasted": str(total - size - min(arrays[number][2] for number in held)),
                     "text": text if isinstance(text, str) else None})

### Equal arrays

inside = set()  # of Strings, and of class objects: ART and Dalvik write such parts as arrays
about = ""
for name in ("info.txt", "classes/java.lang.Object/class.txt"):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        about += file.read()
if "shadow$_klass_" in about or "\nprocess: " in about:
    inside = {array for number, (array, _) in strings.items() if 0 < array - number <= 16}
    inside |= {number for number in arrays if number & 7}

equal = []
alike = grouped(((kind, length), number) for number, (kind, length, _) in arrays.items() if number not in inside)
for (kind, length), numbers in alike.items():
    if len(numbers) < 2:
        continue
    for ids in grouped((object_file(number, "data.bin"), number) for number in numbers).values():
        if len(ids) > 1:
            equal.append({"type": kind, "length": str(length), "count": str(len(ids)), "id": "0x%x" % min(ids),
                          "wasted": str((len(ids) - 1) * arrays[ids[0]][2])})


### Compared

def compare(name, seen, wanted):
    seen_by, wanted_by = {row["id"]: row for row in seen}, {row["id"]: row for row in wanted}
    if len(seen_by) != len(seen):
        differences.append("%s: an id stands twice" % name)
    for number in sorted(set(seen_by) | set(wanted_by)):
        one, other = seen_by.get(number), wanted_by.get(number)
        if one is None or other is None:
            differences.append("%s: %s: seen %r, expected %r" % (name, number, one, other))
            continue
        for column in other:
            if other[column] is not None and one[column] != other[column]:
                differences.append("%s: %s: %s is %r, not %r" % (name, number, column, one[column], other[column]))


def utf16(text):
    return text.encode("utf-16-be", "surrogatepass")


def in_order(name, seen, last):
    key = [(-int(row["wasted"]), -int(row["count"])) for row in seen]
    for i in range(1, len(seen)):
        if key[i] < key[i - 1] or (key[i] == key[i - 1] and last(seen[i]) < last(seen[i - 1])):
            differences.append("%s: out of order: %r, %r" % (name, seen[i - 1], seen[i]))


seen_strings, seen_arrays = rows("duplicates/strings.tsv"), rows("duplicates/arrays.tsv")
compare("strings.tsv", seen_strings, expected)
compare("arrays.tsv", seen_arrays, equal)
# Escapes are not in the order of what they stand for.
escapes = any("\\" in row["text"] for row in seen_strings)
in_order("strings.tsv", seen_strings, lambda row: b"" if escapes else utf16(row["text"]))
in_order("arrays.tsv", seen_arrays, lambda row: int(row["id"], 16))
hashes = grouped((row["hash"], (row["type"], row["length"])) for row in seen_arrays)
for value, kinds in hashes.items():
    if len(value) != 16 or len(kinds) != len(set(kind for kind, _ in kinds)):
        differences.append("arrays.tsv: hash %s: %r" % (value, kinds))

for line in differences[:50]:
    print(line)
print("%d %d" % (len(seen_strings), len(seen_arrays)))
