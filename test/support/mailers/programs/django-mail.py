"""Sends a mail of the given kind by Django's EmailMultiAlternatives."""

import json
import sys
from email.mime.image import MIMEImage
from email.utils import formataddr

from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection

port, kind, key, content, _ca = sys.argv[1:]
with open(f"{content}/message.json", encoding="utf-8") as file:
    given = json.load(file)


def read(name):
    with open(f"{content}/{name}", "rb") as file:
        return file.read()


def named(each):
    return formataddr((each["name"], each["address"]))


settings.configure(USE_TZ=True)
connection = get_connection(
    "django.core.mail.backends.smtp.EmailBackend",
    host="localhost", port=int(port), username="carillon", password=key, use_tls=True,
)  # fmt: skip
mail = EmailMultiAlternatives(
    given["subject"],
    given["text"],
    named(given["from"]),
    [named(each) for each in given["to"]],
    bcc=[given["bcc"]],
    cc=[named(each) for each in given["cc"]],
    connection=connection,
)
if kind == "image":
    mail.attach_alternative(given["html"], "text/html")
    mail.mixed_subtype = "related"
    logo = MIMEImage(read("logo.png"))
    logo.add_header("Content-ID", "<logo@shop.example>")
    logo.add_header("Content-Disposition", "inline", filename="logo.png")
    mail.attach(logo)
if kind == "pdf":
    mail.attach(given["pdfName"], read("invoice.pdf"), "application/pdf")
if kind == "invitation":
    mail.attach_alternative(read("invitation.ics").decode(), "text/calendar; method=REQUEST")
mail.send()
