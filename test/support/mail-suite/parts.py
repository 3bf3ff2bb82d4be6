"""Prints the parts of each mail in a folder as Python's email package finds them: a line of JSON for each mail."""

import email
import hashlib
import json
import os
import sys


def parts_of(message):
    """Leaves in order. An attached mail is one."""
    if message.get_content_type() in ("message/rfc822", "message/global"):
        return [{"type": message.get_content_type(), "sha": None, "size": None}]
    if message.is_multipart() and message.get_content_maintype() == "multipart":
        return [leaf for part in message.get_payload() for leaf in parts_of(part)]
    if message.is_multipart():
        # Another type of message, which the package has parsed.
        return [{"type": message.get_content_type(), "sha": None, "size": None}]
    content = message.get_payload(decode=True) or b""
    return [
        {
            "type": message.get_content_type(),
            "sha": hashlib.sha256(content).hexdigest(),
            "size": len(content),
        }
    ]


def main(folder):
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            message = email.message_from_bytes(file.read())
        try:
            parts = parts_of(message)
        except Exception as error:  # noqa: BLE001 - the package fails at some mails
            print(json.dumps({"name": name, "error": repr(error)}))
            continue
        defects = sorted({type(defect).__name__ for part in message.walk() for defect in part.defects})
        print(json.dumps({"name": name, "parts": parts, "defects": defects}))


main(sys.argv[1])
