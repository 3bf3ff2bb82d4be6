"""Prints what a reader sees of each mail in a folder, by Python's email package: a line of JSON for each mail."""

import email
import email.policy
import hashlib
import json
import os
import sys


def file_of(part):
    content = part.get_payload(decode=True) or b""
    identifier = (part["Content-ID"] or "").strip()
    return [part.get_content_type(), part.get_filename(), identifier, hashlib.sha256(content).hexdigest()]


def joined(part, lines):
    """The paragraphs of a text with format=flowed (RFC 3676), as a reader shows them; quotes keep their lines."""
    if part.get_param("format") != "flowed":
        return lines
    paragraphs, flows = [], False
    for line in lines:
        is_quote = line.startswith(">")
        line = line.removeprefix(" ")
        if flows and not is_quote:
            paragraphs[-1] += line
        else:
            paragraphs.append(line)
        flows = line.endswith(" ") and not is_quote and line != "-- "
        if flows and part.get_param("delsp") == "yes":
            paragraphs[-1] = paragraphs[-1][:-1]
    return paragraphs


def main(folder):
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            message = email.message_from_bytes(file.read(), policy=email.policy.default)
        seen = {"name": name, "text": None, "html": None, "files": [], "to": message["To"], "cc": message["Cc"]}
        seen["subject"] = message["Subject"]
        for part in message.walk():
            if part.is_multipart():
                continue
            kind = {"text/plain": "text", "text/html": "html"}.get(part.get_content_type())
            is_text = kind and part.get_filename() is None and part.get_content_disposition() != "attachment"
            if is_text:
                lines = part.get_content().replace("\r\n", "\n").split("\n")
                seen[kind] = "\n".join(joined(part, lines)).rstrip("\n")
            else:
                seen["files"].append(file_of(part))
        seen["files"].sort(key=str)
        for field in ("to", "cc", "subject"):
            seen[field] = None if seen[field] is None else str(seen[field])
        print(json.dumps(seen))


main(sys.argv[1])
