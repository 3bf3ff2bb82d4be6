"""Sends a mail of the given kind by smtplib and email.message of Python."""

import json
import smtplib
import ssl
import sys
from email.headerregistry import Address
from email.message import EmailMessage

port, kind, key, content, ca = sys.argv[1:]
with open(f"{content}/message.json", encoding="utf-8") as file:
    given = json.load(file)


def read(name):
    with open(f"{content}/{name}", "rb") as file:
        return file.read()


def named(each):
    return Address(each["name"], addr_spec=each["address"])


mail = EmailMessage()
mail["From"] = named(given["from"])
mail["To"] = [named(each) for each in given["to"]]
mail["Cc"] = [named(each) for each in given["cc"]]
mail["Subject"] = given["subject"]
mail.set_content(given["text"])
if kind == "image":
    mail.add_alternative(given["html"], subtype="html")
    logo = dict(cid="<logo@shop.example>", filename="logo.png")
    mail.get_payload()[1].add_related(read("logo.png"), "image", "png", **logo)
if kind == "pdf":
    mail.add_attachment(read("invoice.pdf"), "application", "pdf", filename=given["pdfName"])
if kind == "invitation":
    invitation = read("invitation.ics").decode()
    mail.add_alternative(invitation, subtype="calendar", params={"method": "REQUEST"})
recipients = [each["address"] for each in given["to"] + given["cc"]] + [given["bcc"]]
with smtplib.SMTP("localhost", int(port), local_hostname="app.example.com") as smtp:
    smtp.starttls(context=ssl.create_default_context(cafile=ca))
    smtp.login("carillon", key)
    smtp.send_message(mail, to_addrs=recipients)
