"""Prints mails as Python's email package reads them: JSON, from a JSON list of mails in base64."""

import base64
import email
import email.policy
import hashlib
import json
import sys


def structure_of(part):
    if not part.is_multipart():
        return part.get_content_type()
    return f"{part.get_content_type()}({' '.join(structure_of(one) for one in part.iter_parts())})"


def file_of(part):
    content = part.get_payload(decode=True)
    return {
        "type": part.get_content_type(),
        "method": part.get_param("method"),
        "filename": part.get_filename(),
        "disposition": part.get_content_disposition(),
        "contentId": part["Content-ID"],
        "size": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def addresses_of(message, name):
    field = message[name]
    return [] if field is None else [[one.display_name, one.addr_spec] for one in field.addresses]


def read(raw):
    message = email.message_from_bytes(raw, policy=email.policy.default)
    leaves = [part for part in message.walk() if not part.is_multipart()]
    texts = [part for part in leaves if part.get_filename() is None]
    return {
        "structure": structure_of(message),
        "to": addresses_of(message, "To"),
        "cc": addresses_of(message, "Cc"),
        "replyTo": addresses_of(message, "Reply-To"),
        "names": list(message.keys()),
        "texts": {part.get_content_type(): part.get_content() for part in texts},
        "files": [file_of(part) for part in leaves if part.get_filename() is not None],
        "defects": [type(defect).__name__ for part in message.walk() for defect in part.defects],
    }


json.dump([read(base64.b64decode(raw)) for raw in json.load(sys.stdin)], sys.stdout)
