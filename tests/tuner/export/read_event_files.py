"""Reads TensorBoard event files with nothing of ours: frames, checksums, messages, fields.

Usage: read_event_files.py FOLDER. Prints a JSON object: the name of each run to a list of its events, in order. Exits 1
with a line on what is wrong with a file.
"""

import json
import os
import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def records(path):
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        (length_crc,) = struct.unpack_from("<I", data, at + 8)
        body = data[at + 12 : at + 12 + length]
        if length_crc != masked(data[at : at + 8]):
            sys.exit(f"{path}: byte {at}: the length's checksum is wrong")
        (body_crc,) = struct.unpack_from("<I", data, at + 12 + length)
        if body_crc != masked(body):
            sys.exit(f"{path}: byte {at}: the record's checksum is wrong")
        yield body
        at += 16 + length


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            (value,) = struct.unpack_from("<d", data, at)
            at += 8
        elif kind == 5:
            (value,) = struct.unpack_from("<f", data, at)
            at += 4
        elif kind == 2:
            length, at = varint(data, at)
            value = data[at : at + length]
            if len(value) != length:
                sys.exit("a field is longer than its message")
            at += length
        else:
            sys.exit(f"wire type {kind}")
        yield key >> 3, value


def message(data, names, repeated=()):
    """names: field number -> (name, how to read it)."""
    result = {}
    for number, value in fields(data):
        name, read = names[number]
        value = read(value)
        if number in repeated:
            result.setdefault(name, []).append(value)
        else:
            result[name] = value
    return result


def text(value):
    return value.decode("utf-8")


def same(value):
    return value


def any_value(data):
    ((number, value),) = fields(data)
    return {2: same, 3: text, 4: bool}[number](value)


def entry(data):
    pair = dict(fields(data))
    return [text(pair[1]), any_value(pair[2])]


def interval(data):
    return [value for _, value in fields(data)]


def discrete(data):
    return [any_value(value) for _, value in fields(data)]


def hparam_info(data):
    return message(data, {1: ("name", text), 4: ("type", same), 5: ("values", discrete), 6: ("interval", interval)})


def metric_info(data):
    ((_, name),) = fields(data)
    return message(name, {2: ("tag", text)})


def experiment(data):
    names = {3: ("created", same), 4: ("hparams", hparam_info), 5: ("metrics", metric_info)}
    return message(data, names, repeated=(4, 5))


def session_start(data):
    return message(data, {1: ("hparams", entry), 5: ("time", same)}, repeated=(1,))


def session_end(data):
    return message(data, {1: ("status", same), 2: ("time", same)})


def plugin_content(data):
    names = {1: ("version", same), 2: ("experiment", experiment), 3: ("start", session_start), 4: ("end", session_end)}
    return message(data, names)


def plugin_data(data):
    return message(data, {1: ("plugin", text), 2: ("content", plugin_content)})


def metadata(data):
    return message(data, {1: ("data", plugin_data), 4: ("class", same)})


def summary_value(data):
    names = {1: ("tag", text), 2: ("value", repr), 8: ("tensor", lambda tensor: len(list(fields(tensor)))), 9: ("metadata", metadata)}
    return message(data, names)


def summary(data):
    return [summary_value(value) for _, value in fields(data)]


def event(data):
    return message(data, {1: ("time", same), 2: ("step", same), 3: ("version", text), 5: ("summary", summary)})


def main(folder):
    runs = {}
    for path, _, names in os.walk(folder):
        for name in names:
            if "tfevents" not in name:
                sys.exit(f"{name}: TensorBoard would not look at it")
            run = os.path.relpath(path, folder)
            runs[run] = [event(record) for record in records(os.path.join(path, name))]
    print(json.dumps(runs, sort_keys=True))


main(sys.argv[1])
