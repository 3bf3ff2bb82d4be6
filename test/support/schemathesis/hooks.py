"""Replaces generated values of the right form by values that exist on the tested server, and leaves out repetitions.

A schema can say that `avatar` is a signed id, but not which signed ids exist. Only well-formed values are replaced, so
that requests which violate the schema still do.

The coverage phase enumerates the values of each schema again for each operation that uses it. What one piece of code
reads for many operations is enumerated whole for some of them, and in part for the others.
"""

import collections
import gc
import json
import os
import re
import zlib

import requests
import schemathesis
from schemathesis.generation import GenerationMode
from schemathesis.generation.meta import CoveragePhaseData, CoverageScenario

SIGNED_ID = re.compile(r"([0-9a-z]{1,11})-([0-9a-z]{1,11})-([A-Za-z0-9_-]{22})")
HAS_AT = re.compile(r"[^@]*@.*", re.S)
E164 = re.compile(r"\+[1-9][0-9]{6,14}")
LABEL = r"[^\s/:@\u0000-\u001f\u007f-\u009f\ufeff]+"
DOMAIN = re.compile(rf"{LABEL}\.{LABEL}")
WITH_OFFSET = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T.*")
WEB_URL = re.compile(r"https?:.*", re.S | re.I)
ZONE = re.compile(r".{0,100}", re.S)
TYPED_DOMAIN = re.compile(r".{1,253}", re.S)
LINK = re.compile(r"(https?|mailto|tel):.*", re.S | re.I)

# Generators of values leave little garbage in cycles, and looking for it often takes a fifteenth of their time.
gc.set_threshold(200_000, 50, 50)

existing = json.loads(os.environ["CARILLON_EXISTING"])
webhooks = []
domains = []


def swap(body, name, form, value):
    given = body.get(name)
    if isinstance(given, str) and form.fullmatch(given):
        body[name] = value


def is_id(value):
    return isinstance(value, (int, float)) and value is not True and 0 < value < 10**15 and value == int(value)


CONTENT = {"email": ("subject", "html"), "sms": ("body",)}


def message(body):
    for name in ("from", "from_email"):
        swap(body, name, HAS_AT, existing["sender"])
    for name in ("to", "reply_to"):
        swap(body, name, HAS_AT, "Ada <ada@example.com>")
    swap(body, "to", E164, "+14155550123")
    # Few ids are those of templates with content for the channel. The content is given in the request instead.
    channel = body.get("channel")
    if is_id(body.get("template_id")) and isinstance(channel, str) and channel in CONTENT:
        for name in ("template_id", "variables"):
            body.pop(name, None)
        for name in CONTENT[channel]:
            if isinstance(body.get(name, ""), str):
                body[name] = "Hello"


def account(body):
    for name in ("avatar", "banner"):
        swap(body, name, SIGNED_ID, existing["image"])
    swap(body, "email_from_email", HAS_AT, existing["sender"])


def brand(body):
    swap(body, "logo", SIGNED_ID, existing["image"])
    swap(body, "logo", WEB_URL, "https://example.com/logo.png")
    swap(body, "timezone", ZONE, "Europe/Berlin")
    hours = body.get("quiet_hours")
    if isinstance(hours, dict):
        swap(hours, "timezone", ZONE, "Europe/Berlin")
        # Quiet hours that end when they begin are refused.
        if isinstance(hours.get("start"), str) and hours.get("end") == hours["start"]:
            hours["end"] = "09:00" if hours["start"] == "08:00" else "08:00"
    links = body.get("links")
    for link in links if isinstance(links, list) else []:
        if isinstance(link, dict):
            swap(link, "url", LINK, "https://example.com/")


def template(body):
    for name in ("from_email", "reply_to"):
        swap(body, name, HAS_AT, "ada@example.com")
    # Only an email has these fields.
    names = ("subject", "preheader", "from_name", "from_email", "reply_to", "design")
    if body.get("channel") == "sms" and any(body.get(name) is not None for name in names):
        body["channel"] = "email"


def render(body):
    # Few ids are those of contacts of the brand.
    if is_id(body.get("contact_id")):
        body.pop("contact_id")


def login(body):
    swap(body, "return_to", re.compile(r".{0,2000}", re.S), "/console")


def webhook(body):
    swap(body, "url", re.compile(r"https:.*", re.S | re.I), existing["webhook_url"])


def domain(body):
    given = body.get("domain")
    if isinstance(given, dict):
        if isinstance(given.get("name"), str) and DOMAIN.fullmatch(given["name"]):
            domains.append(None)
            given["name"] = f"brand{len(domains)}.example"
        # No provider has a name that could be guessed.
        if isinstance(given.get("provider"), str) and 0 < len(given["provider"]) <= 100:
            given.pop("provider")


def suppression(body):
    swap(body, "email", HAS_AT, "ada@example.com")
    swap(body, "phone", E164, "+14155550123")
    swap(body, "expires_at", WITH_OFFSET, "2999-01-01T00:00:00Z")


def block(body):
    swap(body, "email", HAS_AT, "ada@example.com")
    swap(body, "domain", TYPED_DOMAIN, "example.com")


changes = {
    "POST /v1/login": login,
    "POST /v1/my/domains": domain,
    "POST /v1/my/suppressions": suppression,
    "POST /v1/my/inbox_blocks": block,
    "POST /v1/my/messages": message,
    "POST /v1/my/templates": template,
    "POST /v1/my/templates/{id}/render": render,
    "PATCH /v1/my/account": account,
    "PUT /v1/my/brand": brand,
    "POST /v1/my/webhooks": webhook,
    "PATCH /v1/my/webhooks/{id}": webhook,
}


# Components with about a thousand cases each, by the field that has them, and the operation that gets all of them.
LARGE = {"design": "POST /v1/my/templates", "steps": "POST /v1/my/flows"}
MAX_LARGE_CASES = 20
# One middleware reads these headers, and one function these parameters of lists.
SHARED_PARAMETERS = {"X-Account-Id", "X-Brand-Id", "X-Request-Id", "Idempotency-Key", "If-Match", "page", "limit", "after"}
MAX_SHARED_CASES = 2
# One operation in so many gets all cases of them.
WHOLE_EVERY = 5
# The steps of a flow may have steps of their own. One piece of code reads them at every depth, so a case of the steps
# within is sent for one of the steps that have some.
STEPS_WITHIN = re.compile(
    r".*/(?:yes|no|branches/items/properties/steps)/anyOf/0/items/"
    r"|.*'steps' value: Single-item array: .*'(?:yes|no|steps)' value: Single-item array: ",
    re.S,
)
# The other operations that read steps are described with these types only. Enumerating steps within steps takes seconds
# for each operation, and only a few of the cases are sent.
FEW_STEPS = ("EmailStep", "WaitStep", "ExitStep")
COMPONENTS = "#/components/schemas/"
# Values of most types are wrong for a value. The first of them is sent, and one of so many that follow.
WRONG_TYPES = 4
# Operations for users refuse the key of these tests before they read anything else.
refused = set()
MAX_REFUSED_CASES = 5
sent = collections.Counter()


# Values of parameters that have the right form but may be refused: an offset of a day, a text of blanks.
TIME = "2026-01-01T00:00:00Z"
PARAMETERS = {"GET /v1/my/search": {"q": "ada"}}


def valid_parameters(case):
    """A valid request: the values of its parameters are replaced whatever they are."""
    query = case.query if case.query is not None else {}
    replaced = {"created_after": TIME, "created_before": TIME, **PARAMETERS.get(case.operation.label, {})}
    for name, value in replaced.items():
        if name in query:
            query[name] = value
    # A resource has one revision; any other is a 412.
    if case.headers is not None and "If-Match" in case.headers:
        case.headers["If-Match"] = "*"


def is_among_first(key, most):
    sent[key] += 1
    return sent[key] <= most


def is_repeated_step(label, mode, data):
    """Whether the same case of a step within another one was sent."""
    place = data.location or data.description
    if not STEPS_WITHIN.match(place):
        return False
    return not is_among_first((label, mode, data.scenario, STEPS_WITHIN.sub("", place)), 1)


def is_chosen_type(label, data):
    """A value gets two of the five wrong types."""
    key = (label, "type", data.location, data.parameter)
    sent[key] += 1
    return sent[key] == 1 or sent[key] == 2 + zlib.crc32(repr(key).encode()) % WRONG_TYPES


# Drawing and comparing texts of two megabytes takes most of the time of an operation. Other tests check such limits.
MAX_LENGTH = 1_000_000


def for_generators(node):
    """
    Generators of values know `additionalProperties` only, which says the same where nothing else adds properties. They
    draw texts as long as the schema allows, so it allows any length above `MAX_LENGTH`.
    """
    if isinstance(node, list):
        return [for_generators(each) for each in node]
    if not isinstance(node, dict):
        return node
    changed = {name: for_generators(value) for name, value in node.items()}
    if changed.get("unevaluatedProperties") is False:
        changed["additionalProperties"] = changed.pop("unevaluatedProperties")
    if isinstance(changed.get("maxLength"), int) and changed["maxLength"] > MAX_LENGTH:
        del changed["maxLength"]
    return changed


def with_few_steps(node, components):
    """A copy of the schema of a request whose steps are of `FEW_STEPS`; components with steps are copied into it."""
    if isinstance(node, list):
        return [with_few_steps(each, components) for each in node]
    if not isinstance(node, dict):
        return node
    name = str(node.get("$ref", "")).removeprefix(COMPONENTS)
    if name == "FlowStepInput":
        return {"oneOf": [{"$ref": COMPONENTS + each} for each in FEW_STEPS]}
    if "steps" in components.get(name, {}).get("properties", {}):
        return with_few_steps(components[name], components)
    return {key: with_few_steps(value, components) for key, value in node.items()}


def limit_steps(raw_schema):
    for path, item in raw_schema["paths"].items():
        for method, operation in item.items():
            if "requestBody" in operation and f"{method.upper()} {path}" != LARGE["steps"]:
                components = raw_schema["components"]["schemas"]
                operation["requestBody"] = with_few_steps(operation["requestBody"], components)


def operations_without_keys(raw_schema):
    """The operations that refuse every API key, each as `METHOD /path`."""
    return {
        f"{method.upper()} {path}"
        for path, item in raw_schema["paths"].items()
        for method, operation in item.items()
        if operation.get("security") and not any("apiKey" in each for each in operation["security"])
    }


@schemathesis.hook
def before_load_schema(context, raw_schema):
    raw_schema.update(for_generators(raw_schema))
    limit_steps(raw_schema)
    refused.update(operations_without_keys(raw_schema))


@schemathesis.hook
def filter_case(context, case):
    # Each look at it compares the case with what it was, which takes time.
    meta = case.meta
    data = meta.phase.data if meta else None
    if not isinstance(data, CoveragePhaseData):
        return True
    label = case.operation.label
    if label in refused:
        return is_among_first((label, "refused"), MAX_REFUSED_CASES)
    for field, operation in LARGE.items():
        if field in data.description and label != operation:
            return is_among_first((label, meta.generation.mode, field), MAX_LARGE_CASES)
    mode = meta.generation.mode
    if is_repeated_step(label, mode, data):
        return False
    is_whole = zlib.crc32(label.encode()) % WHOLE_EVERY == 0
    if data.scenario == CoverageScenario.INCORRECT_TYPE and not is_whole and not is_chosen_type(label, data):
        return False
    is_shared = data.parameter in SHARED_PARAMETERS and mode == GenerationMode.NEGATIVE
    if is_shared and not is_whole:
        return is_among_first((label, data.parameter), MAX_SHARED_CASES)
    return True


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.meta and case.meta.generation.mode == GenerationMode.POSITIVE:
        valid_parameters(case)
    headers = case.headers if case.headers is not None else {}
    for name in headers:
        # A number from a response cannot be sent as a header.
        if isinstance(headers[name], (int, float)):
            headers[name] = str(headers[name])
    if "X-Brand-Id" in headers:
        swap(headers, "X-Brand-Id", re.compile(r"[1-9][0-9]{0,14}"), existing["brand"])
    swap(headers, "If-Match", re.compile(r'"[!#-~]*"'), "*")
    change = changes.get(case.operation.label)
    if change and isinstance(case.body, dict):
        change(case.body)


@schemathesis.hook
def after_call(context, case, response):
    """A brand has at most ten webhooks: the oldest are removed, so that new ones are accepted."""
    if case.operation.label != "POST /v1/my/webhooks" or response.status_code != 201:
        return
    webhooks.append(response.json()["id"])
    if len(webhooks) > 6:
        url = f"{existing['url']}/v1/my/webhooks/{webhooks.pop(0)}"
        requests.delete(url, headers={"Authorization": f"Bearer {existing['key']}"}, timeout=60)
