#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a mounted heap graph with the text that its trace was encoded from.

graph_truth.py TEXTPROTO FOLDER...: a folder a graph, in their order. Reads the text format of Protocol Buffers and
puts the graph together by the rules of Perfetto's own reader, sharing no code with heapfs. Prints what differs, and at
the end how many objects, references that are not null, and roots were compared; exit status 1 if anything differs.
"""
import os
import re
import sys


def tokens(text):
    for match in re.finditer(r'#[^\n]*|"(?:\\.|[^"\\])*"|\[[\w.]+\]|[\w.+-]+|[{}:,]', text):
        if not match.group().startswith("#"):
            yield match.group()


def parse(stream):
    """A message as a list of (name, value); a value is a string or a message."""
    fields = []
    name = None
    for token in stream:
        if token == "}":
            return fields
        if token == "{":
            fields.append((name, parse(stream)))
            name = None
        elif token in ":,":
            continue
        elif name is None:
            name = token.strip("[]").split(".")[-1]
        else:
            fields.append((name, token.strip('"')))
            name = None
    return fields


def all_of(message, name):
    return [value for key, value in message if key == name]


def one(message, name, default=0):
    values = all_of(message, name)
    return values[-1] if values else default


def number(message, name):
    return int(one(message, name, "0"), 0)


def graphs_of(packets):
    """The HeapGraph packets of each graph, in the order in which graphs begin."""
    graphs, going = [], {}
    for packet in packets:
        for graph in all_of(packet, "heap_graph"):
            sequence = number(packet, "trusted_packet_sequence_id")
            if sequence not in going:
                going[sequence] = []
                graphs.append(going[sequence])
            going[sequence].append(graph)
            if one(graph, "continued", "false") != "true":
                del going[sequence]
    return graphs


class Graph:
    def __init__(self, packets):
        self.types, self.objects, self.roots = {}, {}, {}
        self.pid = number(packets[0], "pid")
        before, heap = 0, 0
        for packet in packets:
            for message in all_of(packet, "types"):
                self.types[number(message, "id")] = message
            for message in all_of(packet, "roots"):
                kind = one(message, "root_type", "ROOT_UNKNOWN")
                for root in all_of(message, "object_ids"):
                    self.roots.setdefault(kind, set()).add(int(root, 0))
            for message in all_of(packet, "objects"):
                delta = number(message, "id_delta")
                before = before + delta if delta else number(message, "id")
                heap = one(message, "heap_type_delta", heap)
                base = number(message, "reference_field_id_base")
                references = [int(r, 0) for r in all_of(message, "reference_object_id")]
                references = [r + base for r in references if r]
                references += [int(r, 0) for r in all_of(message, "runtime_internal_object_id")]
                self.objects[before] = (message, references, heap)

    def type_of(self, message):
        return self.types.get(number(message, "type_id"))


problems = 0


def differs(what):
    global problems
    problems += 1
    print(what)


def references_in(text):
    """Ids that lines of object.txt or class.txt lead to, missing ones too, but for what every object has."""
    found = []
    for line in text.split("\n"):
        match = re.match(r"[^:]+: object = (0x[0-9a-f]+)", line)
        if match:
            found.append(int(match.group(1), 16))
    return found


def compare(graph, folder):
    info = open(folder + "/info.txt").read()
    references = 0
    names = {}
    for line in open(folder + "/classes.tsv").read().split("\n")[1:]:
        if line:
            cells = line.split("\t")
            names.setdefault(cells[0], []).append(int(cells[1], 16))
    for wanted in {one(t, "class_name", "") for t in graph.types.values()}:
        inner = re.fullmatch(r"java\.lang\.Class<(.*)>", wanted)
        if (inner.group(1) if inner else wanted) not in names:
            differs(f"class {wanted} is missing")
    for key, (message, wanted, heap) in graph.objects.items():
        references += len(wanted)
        kind = graph.type_of(message)
        name = one(kind, "class_name", "") if kind else "?"
        path = f"{folder}/objects/{hex(key * 8)}"
        text_file = "class.txt" if re.fullmatch(r"java\.lang\.Class<.*>", name) else "object.txt"
        if not os.path.exists(f"{path}/{text_file}"):
            differs(f"object {hex(key * 8)} ({name}): no {text_file}")
            continue
        text = open(f"{path}/{text_file}").read()
        seen = references_in(text)
        internals = [int(r, 0) for r in all_of(message, "runtime_internal_object_id")]
        if internals:  # in an array beside the object, as in ART's own dumps
            beside = key * 8 + 4
            seen.remove(beside)
            array = open(f"{folder}/objects/{hex(beside)}/object.txt").read()
            seen += [int(m, 16) for m in re.findall(r"^\d+: object = (0x[0-9a-f]+)", array, re.M)]
        if text_file == "class.txt":
            wanted_class = name[len("java.lang.Class<"):-1]
            if f"class: {wanted_class}\n" not in text:
                differs(f"object {hex(key * 8)} is not class {wanted_class}")
        else:
            size = number(message, "self_size") or number(kind, "object_size")
            if f"class: {name}\n" not in text:
                differs(f"object {hex(key * 8)} is not of class {name}")
            if f"\nshallow: {size}\n" not in text:
                differs(f"object {hex(key * 8)} is not of {size} bytes")
            shown = re.search(r"^heap: (.*)$", text, re.M)
            expected = {"HEAP_TYPE_APP": "app", "HEAP_TYPE_ZYGOTE": "zygote", "HEAP_TYPE_BOOT_IMAGE": "image"}
            if heap in expected and (not shown or shown.group(1) != expected[heap]):
                differs(f"object {hex(key * 8)} is not in the {expected[heap]} heap")
            for field, column in (("bitmap_width_field", "mWidth: int"), ("bitmap_height_field", "mHeight: int"),
                                  ("bitmap_id_field", "mId: long"), ("bitmap_source_id_field", "mSourceId: long"),
                                  ("native_allocation_registry_size_field", "size: long"),
                                  ("application_info_long_version_code_field", "longVersionCode: long")):
                value = number(message, field)
                if value and f"\n{column} = {value}\n" not in text:
                    differs(f"object {hex(key * 8)}: {field} {value} is missing")
        if sorted(seen) != sorted(r * 8 for r in wanted):
            differs(f"object {hex(key * 8)}: references {seen}, not {[r * 8 for r in wanted]}")
    for line, wanted in (("objects", len(graph.objects)), ("references", references)):
        match = re.search(rf"^heap graph: .*?(\d+) {line}", info, re.M)
        if not match or int(match.group(1)) != wanted:
            differs(f"info.txt: {match and match.group(1)} {line}, not {wanted}")
    for kind, ids in graph.roots.items():
        path = f"{folder}/roots/{kind[5:].lower().replace('_', '-')}"
        seen = {int(n, 16) // 8 for n in os.listdir(path)} if os.path.isdir(path) else set()
        if seen != {i for i in ids if i in graph.objects}:
            differs(f"roots {kind}: {sorted(seen)}, not {sorted(ids)}")
    return len(graph.objects), references, sum(len(ids) for ids in graph.roots.values())


def main():
    text = open(sys.argv[1]).read()
    graphs = [Graph(packets) for packets in graphs_of(all_of(parse(tokens(text)), "packet"))]
    if len(graphs) != len(sys.argv) - 2:
        differs(f"{len(graphs)} graphs, {len(sys.argv) - 2} folders")
    totals = [sum(column) for column in zip(*(compare(g, f) for g, f in zip(graphs, sys.argv[2:])))] or [0, 0, 0]
    print("%d objects, %d references, %d roots" % tuple(totals))
    sys.exit(problems > 0)


main()
