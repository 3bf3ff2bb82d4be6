"""Prints what Python's email reads in mails: {"name": base64, …} on standard input, the same names on standard output."""

import base64
import email
import email.policy
import hashlib
import json
import re
import sys


def addresses(mail, name):
    field = mail[name]
    return [] if field is None else [[each.display_name, each.addr_spec] for each in field.addresses]


def lines(text):
    """A text without the kind of its line ends, and without those at its end."""
    return re.sub(r"\r+\n|\r", "\n", text).rstrip("\n")


def name_of(part):
    """The name of a file. A part without one gets the extension of its type."""
    extensions = {"text/calendar": ".ics", "image/png": ".png", "application/pdf": ".pdf"}
    return part.get_filename() or "attachment" + extensions.get(part.get_content_type(), "")


def facts(raw):
    mail = email.message_from_bytes(raw, policy=email.policy.default)
    texts, files, invitations = {}, [], []
    for part in mail.walk():
        kind = part.get_content_type()
        if part.is_multipart():
            continue
        if kind == "text/calendar":
            # A calendar with a method becomes an invitation, even if its type does not say the method.
            calendar = lines(part.get_payload(decode=True).decode())
            method = part.get_param("method") or re.search(r"^METHOD:(\w+)", calendar, re.M)[1]
            invitations.append([method, name_of(part), calendar])
        elif kind in ("text/plain", "text/html") and part.get_filename() is None:
            texts.setdefault(kind, []).append(lines(part.get_content()))
        else:
            content = part.get_payload(decode=True)
            ident = (part["Content-ID"] or "").strip().strip("<>")
            files.append([name_of(part), kind, ident, hashlib.sha256(content).hexdigest()])
    return {
        "subject": mail["Subject"],
        "from": addresses(mail, "From"),
        "to": addresses(mail, "To"),
        "cc": addresses(mail, "Cc"),
        "bcc": mail["Bcc"],
        "texts": texts,
        "files": sorted(files, key=str),
        "invitations": invitations,
        "defects": [str(each) for each in mail.defects],
    }


given = json.load(sys.stdin)
json.dump({name: facts(base64.b64decode(mail)) for name, mail in given.items()}, sys.stdout)
