# SPDX-License-Identifier: Apache-2.0
#
# diff_truth.py OLDER NEWER: OLDER is a folder where a dump is mounted, NEWER one where another is, with the first as its
# baseline. Computes NEWER/diff anew: which objects are new, and which removed, from the two dumps' own bytes, with a reader
# of its own that keeps whole contents and hashes nothing; the tables from other files of the two trees. Whether objects were
# matched by id is taken from info.txt. Prints a line for each difference, and last how many objects and lines there were.

import os
import re
import struct
import sys
from collections import Counter, defaultdict

WIDTHS = {4: 1, 5: 2, 6: 4, 7: 8, 8: 1, 9: 2, 10: 4, 11: 8}
PRIMITIVES = {"Z": "boolean", "C": "char", "F": "float", "D": "double", "B": "byte", "S": "short", "I": "int", "J": "long"}
ELEMENTS = {4: "boolean[]", 5: "char[]", 6: "float[]", 7: "double[]", 8: "byte[]", 9: "short[]", 10: "int[]", 11: "long[]"}
MOST = 4096
INSTANCE, OBJECTS, NUMBERS = 0x21, 0x22, 0x23
older, newer = sys.argv[1:3]
differences = []


def differ(what, seen, expected):
    if seen != expected:
        differences.append("%s: seen %s, expected %s" % (what, seen, expected))


def fold(name):
    brackets = ""
    while name.endswith("[]"):
        name, brackets = name[:-2], brackets + "[]"
    name = re.sub(r"(?<=.)([+/.@]0x[0-9a-fA-F]+|[+/.][0-9]+)$", "", name)
    return re.sub(r"(?<=.)(\$\$Lambda)\$[0-9]+$", r"\1", name) + brackets


def display(name):
    name = name.replace("/", ".")
    dimensions = len(name) - len(name.lstrip("["))
    if not dimensions:
        return name
    element = name[dimensions:]
    if element[0] == "L" and element.endswith(";"):
        element = element[1:-1]
    elif element in PRIMITIVES:
        element = PRIMITIVES[element]
    return element + "[]" * dimensions


class Class:
    def __init__(self):
        self.name, self.super, self.fields, self.instances = None, 0, [], 0


class Dump:
    """Classes by id, objects by id (the first of each), and all objects in the order of the file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = file.read()
        end = self.bytes.index(b"\0") + 1
        self.width = struct.unpack_from(">I", self.bytes, end)[0]
        self.names, self.classes, self.class_names = {}, defaultdict(Class), {}
        self.objects, self.order = {}, []
        at = end + 12
        while at + 9 <= len(self.bytes):
            tag, length = self.bytes[at], struct.unpack_from(">I", self.bytes, at + 5)[0]
            body, at = at + 9, at + 9 + length
            if tag == 0x01:
                self.names[self.id(body)] = self.bytes[body + self.width:at]
            elif tag == 0x02:
                self.class_names[self.id(body + 4)] = self.id(body + 8 + self.width)
            elif tag in (0x0c, 0x1c):
                self.segment(body, min(at, len(self.bytes)))
        for number, name in self.class_names.items():
            self.classes[number].name = display(self.names.get(name, b"").decode("utf-8", "surrogateescape"))
        for one in self.order:
            if one[1] != NUMBERS and one[2] in self.classes:
                self.classes[one[2]].instances += 1
        self.texts = {}

    def id(self, at):
        return int.from_bytes(self.bytes[at:at + self.width], "big")

    def segment(self, at, end):
        width = self.width
        roots = {0xff: 0, 1: width, 2: 8, 3: 8, 4: 4, 5: 0, 6: 4, 7: 0, 8: 8, 0x89: 0, 0x8a: 0, 0x8b: 0, 0x8c: 0, 0x8d: 0,
                 0x8e: 8, 0x90: 0}
        while at < end:
            tag = self.bytes[at]
            at += 1
            if tag in roots:
                at += width + roots[tag]
            elif tag == 0xfe:
                at += 4 + width
            elif tag == 0x20:
                at = self.class_dump(at)
            elif tag == INSTANCE:
                length = struct.unpack_from(">I", self.bytes, at + 2 * width + 4)[0]
                data = at + 2 * width + 8
                self.add((self.id(at), tag, self.id(at + width + 4), 0, 0, self.bytes[data:data + length]))
                at = data + length
            elif tag == OBJECTS:
                count = struct.unpack_from(">I", self.bytes, at + width + 4)[0]
                data = at + 2 * width + 8
                self.add((self.id(at), tag, self.id(at + width + 8), 2, count, self.bytes[data:data + count * width]))
                at = data + count * width
            elif tag in (NUMBERS, 0xc3):
                count, kind = struct.unpack_from(">IB", self.bytes, at + width + 4)
                data = at + width + 9
                length = count * WIDTHS[kind] if tag == NUMBERS else 0
                self.add((self.id(at), NUMBERS, 0, kind, count, self.bytes[data:data + length]))
                at = data + length
            else:
                raise ValueError("sub-record 0x%x at %d" % (tag, at - 1))

    def add(self, one):
        self.objects.setdefault(one[0], one)
        self.order.append(one)

    def class_dump(self, at):
        width = self.width
        one = self.classes[self.id(at)]
        one.super = self.id(at + width + 4)
        at += 7 * width + 8
        count = struct.unpack_from(">H", self.bytes, at)[0]
        at += 2
        for _ in range(count):
            kind = self.bytes[at + 2]
            at += 3 + (width if kind == 2 else WIDTHS[kind])
        count = struct.unpack_from(">H", self.bytes, at)[0]
        at += 2
        for _ in range(count):
            kind = self.bytes[at + width]
            at += width + 1 + (width if kind == 2 else WIDTHS[kind])
        count = struct.unpack_from(">H", self.bytes, at)[0]
        at += 2
        one.fields = []
        for _ in range(count):
            one.fields.append((self.id(at), self.bytes[at + width]))
            at += width + 1
        return at

    def group(self, one):
        """The folded name of an object's class."""
        return ELEMENTS[one[3]] if one[1] == NUMBERS else fold(self.classes[one[2]].name or "")

    def layout(self, number):
        """All fields of instances of a class: (key, name, type, place)."""
        at, result, seen = 0, [], Counter()
        while number in self.classes and self.classes[number].name is not None:
            one = self.classes[number]
            for name, kind in one.fields:
                text = self.names.get(name, b"").decode("utf-8", "surrogateescape")
                key = (fold(one.name), text, kind)
                result.append((key + (seen[key],), text, kind, at))
                seen[key] += 1
                at += self.width if kind == 2 else WIDTHS[kind]
            number = one.super
        return result

    def text(self, one):
        """The chars of a String as UTF-16 units; None for what is no String, or has no text."""
        if one[0] not in self.texts:
            self.texts[one[0]] = self.find_text(one)
        return self.texts[one[0]]

    def find_text(self, one):
        if one[1] != INSTANCE or self.classes[one[2]].name != "java.lang.String":
            return None
        values = {name: one[5][at:at + (self.width if kind == 2 else WIDTHS[kind])]
                  for _, name, kind, at in self.layout(one[2])}
        array = self.objects.get(int.from_bytes(values.get("value", b""), "big"))
        if not array or array[1] != NUMBERS or array[3] not in (5, 8) or len(array[5]) < array[4] * WIDTHS[array[3]]:
            return None
        if array[3] == 5:
            units = struct.unpack(">%dH" % array[4], array[5])
        elif values.get("coder") == b"\1":
            units = struct.unpack("<%dH" % (array[4] // 2), array[5][:array[4] // 2 * 2])
        else:
            units = tuple(array[5])
        if "offset" in values and "count" in values:
            first, count = (int.from_bytes(values[name], "big") for name in ("offset", "count"))
            return units[first:first + count] if first + count <= len(units) else None
        return units


def is_compared(name, kind):
    if name in ("shadow$_klass_", "shadow$_monitor_"):
        return False
    return kind not in (10, 11) or not (name in ("eetop", "address") or "Native" in name or name.startswith("native") or
                                        name.endswith("Ptr"))


class Contents:
    def __init__(self, dump, common):
        self.dump, self.plans = dump, {}
        for number, one in dump.classes.items():
            if one.name is not None and one.instances:
                keys = common.get(fold(one.name))
                self.plans[number] = sorted((key, kind, at) for key, name, kind, at in dump.layout(number)
                                            if is_compared(name, kind) and (keys is None or key in keys))

    def flat(self, one, most=None):
        """All but what references lead to."""
        head = (self.dump.group(one), one[1], one[3], one[4])
        if one[1] == NUMBERS:
            return head + (one[5][:most],)
        if one[1] == OBJECTS:
            return head
        if self.dump.classes[one[2]].name == "java.lang.String":
            text = self.dump.text(one)
            return head + (None if text is None else (len(text), text[:most]),)
        return head + tuple((key, int.from_bytes(one[5][at:at + WIDTHS[kind]], "big"))
                            for key, kind, at in self.plans.get(one[2], ()) if kind != 2)

    def reference(self, data):
        number = int.from_bytes(data, "big")
        if not number:
            return None
        one = self.dump.objects.get(number)
        if one:
            return self.flat(one, MOST)
        if number in self.dump.classes:
            return "class", fold(self.dump.classes[number].name or "")
        return "absent"

    def whole(self, one):
        width = self.dump.width
        result = self.flat(one)
        if one[1] == OBJECTS:
            result += tuple(self.reference(one[5][at:at + width]) for at in range(0, len(one[5]), width))
        elif one[1] == INSTANCE and self.dump.classes[one[2]].name != "java.lang.String":
            result += tuple((key, self.reference(one[5][at:at + width]))
                            for key, kind, at in self.plans.get(one[2], ()) if kind == 2)
        return result


def field_keys(dump):
    """Of each folded name the fields that its classes have."""
    keys = {}
    for number, one in dump.classes.items():
        if one.name is not None and one.instances:
            keys.setdefault(fold(one.name), set()).update(key for key, name, kind, _ in dump.layout(number)
                                                           if is_compared(name, kind))
    return keys


def twin_of(dump, one, other_dump):
    """What an object may be in the other dump by its id, or None."""
    other = other_dump.objects.get(one[0])
    if (other is None or dump.objects[one[0]] is not one or dump.group(one) != other_dump.group(other) or
            one[1] != other[1] or one[3:5] != other[3:5] or dump.text(one) != other_dump.text(other)):
        return None
    return other


def without_partner(dumps, by_id):
    keys = [field_keys(dump) for dump in dumps]
    contents = [Contents(dump, keys[1 - side]) for side, dump in enumerate(dumps)]

    def is_unchanged(side, one):
        other = twin_of(dumps[side], one, dumps[1 - side])
        return other is not None and (one == other or contents[side].whole(one) == contents[1 - side].whole(other))

    left = [[one for one in dump.order if not (by_id and is_unchanged(side, one))] for side, dump in enumerate(dumps)]
    groups = [{dump.group(one) for one in left[side]} for side, dump in enumerate(dumps)]
    both = groups[0] & groups[1]
    counts = [Counter(), Counter()]
    whole = [{}, {}]
    for side, dump in enumerate(dumps):
        for number, one in enumerate(left[side]):
            if dump.group(one) in both:
                whole[side][number] = contents[side].whole(one)
                counts[side][whole[side][number]] += 1
    result = []
    for side in range(2):
        partners = Counter(counts[1 - side])
        alone = []
        for number, one in enumerate(left[side]):
            content = whole[side].get(number)
            if content is not None and partners[content]:
                partners[content] -= 1
            else:
                alone.append(one)
        result.append(alone)
    if not by_id:
        return result
    new = {id(one) for one in result[1]}
    changed = [(one, other) for one in result[0] for other in [twin_of(dumps[0], one, dumps[1])] if id(other) in new]
    gone, come = {id(one) for one, _ in changed}, {id(other) for _, other in changed}
    return [[one for one in result[0] if id(one) not in gone], [one for one in result[1] if id(one) not in come]]


### What the trees say

def read(*path):
    with open(os.path.join(*path), encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        return file.read()


def rows(*path):
    if not os.path.exists(os.path.join(*path)):
        return []
    lines = read(*path).split("\n")
    differ("%s ends in a line feed" % "/".join(path[1:]), lines.pop(), "")
    return [line.split("\t") for line in lines[1:]]


def values(*path):
    return dict(line.split(": ", 1) for line in read(*path).split("\n") if ": " in line)


def listed(side):
    """{id: name of the class's folder} of diff/new or diff/removed."""
    result = {}
    for folder, folders, files in os.walk(os.path.join(newer, "diff", side)):
        for name in files + [one for one in folders if os.path.islink(os.path.join(folder, one))]:
            inside = os.path.relpath(folder, os.path.join(newer, "diff", side)).split(os.sep)
            number = int(name[:-4] if side == "removed" else name, 16)
            if number in result:
                differences.append("%s: 0x%x stands there twice" % (side, number))
            result[number] = inside[0]
    return result


def check_objects(dumps, by_id):
    alone = without_partner(dumps, by_id)
    for side, name in enumerate(("removed", "new")):
        seen = listed(name)
        expected = {one[0]: dumps[side].group(one) for one in alone[side] if dumps[side].objects[one[0]] is one}
        differ("diff/%s: how many" % name, len(seen), len(expected))
        for number in sorted(set(seen) ^ set(expected))[:20]:
            differences.append("diff/%s: 0x%x (%s) is %s" % (name, number, seen.get(number) or expected.get(number),
                                                            "there" if number in seen else "not there"))
        for number in set(seen) & set(expected):
            if re.fullmatch(r"[\w.$\[\]]+", expected[number]):
                differ("diff/%s: folder of 0x%x" % (name, number), seen[number], expected[number])
    return [len(one) for one in alone]


def grouped(lines):
    """{key: [count and bytes before, and after]} of (side, key, count, bytes)."""
    groups = defaultdict(lambda: [[0, 0], [0, 0]])
    for side, key, count, size in lines:
        groups[key][side][0] += count
        groups[key][side][1] += size
    return groups


def check_table(name, columns, groups, changed):
    """Every line of a table, and its order."""
    seen, before = {}, None
    for row in rows(newer, "diff", name):
        key, numbers = tuple(row[:columns]), [int(cell) for cell in row[columns:]]
        differ("diff/%s: %s twice" % (name, key), key in seen, False)
        differ("diff/%s: %s: deltas" % (name, key), (numbers[2], numbers[5]), (numbers[1] - numbers[0], numbers[4] - numbers[3]))
        if before and (numbers[5], numbers[2]) > before:
            differences.append("diff/%s: %s stands too low" % (name, key))
        before = (numbers[5], numbers[2])
        seen[key] = [[numbers[0], numbers[3]], [numbers[1], numbers[4]]]
    expected = {key: sums for key, sums in groups.items() if changed(sums)}
    for key in list(set(seen) ^ set(expected))[:20]:
        differences.append("diff/%s: %s is %s" % (name, key, "there" if key in seen else "not there"))
    for key in set(seen) & set(expected):
        differ("diff/%s: %s" % (name, key), seen[key], expected[key])
    return len(seen)


def check_tables(dumps):
    trees = (older, newer)
    lines = check_table("classes.tsv", 1, grouped((side, (fold(row[0]),), int(row[2]), int(row[3]))
                                                  for side, tree in enumerate(trees) for row in rows(tree, "classes.tsv")),
                        lambda sums: sums[0] != sums[1])
    lines += check_table("bitmaps.tsv", 4, grouped((side, (row[2], row[3], row[4].split(" ")[0], row[12]), 1, int(row[9]))
                                                   for side, tree in enumerate(trees) for row in rows(tree, "bitmaps.tsv")),
                         lambda sums: sums[0] != sums[1])
    # Texts: those short enough to stand there whole.
    texts = []
    for side, tree in enumerate(trees):
        shared = set()
        arrays = {int(row[0], 16): int(row[2]) for kind in ("byte[]", "char[]")
                  for row in rows(tree, "classes", kind, "instances.tsv")}
        for row in rows(tree, "strings", "strings.tsv"):
            one = dumps[side].objects[int(row[0], 16)]
            text = dumps[side].text(one)
            if text is None:
                continue
            place = next(at for _, name, _, at in dumps[side].layout(one[2]) if name == "value")
            array = int.from_bytes(one[5][place:place + dumps[side].width], "big")
            known = (text, array) in shared
            shared.add((text, array))
            texts.append((side, text, 1, int(row[2]) + (0 if known else arrays[array])))
    groups = grouped(texts)
    named = {}
    for text, sums in groups.items():
        raw = struct.pack(">%dH" % len(text), *text)
        named.setdefault(raw, sums)
    changed = {raw: sums for raw, sums in named.items() if sums[0][0] != sums[1][0]}
    seen = rows(newer, "diff", "strings.tsv")
    differ("diff/strings.tsv: lines", len(seen), len(changed))
    lines_seen = Counter(tuple(int(row[i]) for i in (1, 2, 4, 5)) for row in seen)
    lines_expected = Counter((sums[0][0], sums[1][0], sums[0][1], sums[1][1]) for sums in changed.values())
    differ("diff/strings.tsv: numbers", list((lines_seen - lines_expected).items())[:5],
           list((lines_expected - lines_seen).items())[:5])
    plain = {raw.decode("utf-16-be"): sums for raw, sums in changed.items()
             if len(raw) < 2000 and all(0x20 <= unit < 0x7f and unit != 0x5c
                                        for unit in struct.unpack(">%dH" % (len(raw) // 2), raw))}
    by_text = {row[0]: row for row in seen}
    for text, sums in plain.items():
        row = by_text.get(text)
        differ("diff/strings.tsv: %r" % text, row and [int(row[1]), int(row[2])], [sums[0][0], sums[1][0]])
    # Paths: those of one step are all that is reachable.
    summaries = [values(tree, "graph", "summary.txt") for tree in trees]
    paths = rows(newer, "diff", "dominators.tsv")
    first = [row for row in paths if " > " not in row[0]]
    for column, key in ((3, "reachable objects"), (6, "reachable bytes")):
        differ("diff/dominators.tsv: growth of all (%s)" % key, sum(int(row[column]) for row in first),
               int(summaries[1][key]) - int(summaries[0][key]))
    return lines + len(seen) + len(paths)


def main():
    info = values(newer, "diff", "info.txt")
    dumps = [Dump(os.path.join(tree, "raw.hprof")) for tree in (older, newer)]
    alone = check_objects(dumps, info["matched by"].startswith("id"))
    lines = check_tables(dumps)
    differ("info.txt: new", info["new"].split(" ")[0], str(alone[1]))
    differ("info.txt: removed", info["removed"].split(" ")[0], str(alone[0]))
    for line in differences[:60]:
        print(line)
    print(len(dumps[1].order), alone[0], alone[1], lines)


main()
