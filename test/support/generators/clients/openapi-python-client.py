"""Sends a message, a campaign and a flow with the client that openapi-python-client makes."""

import importlib
import json
import os
import pkgutil

import client
from client import AuthenticatedClient
from client.api.campaigns import create_campaign, send_campaign
from client.api.flows import activate_flow, create_flow
from client.api.messages import get_message, send_message
from client.models import (
    ActivateFlowBody,
    AddToListStep,
    CampaignOptions,
    ConditionStep,
    CreateCampaignBody,
    CreateCampaignBodyData,
    CreateFlowBody,
    DesignInput,
    EmailMessage,
    EmailMessageTags,
    EmailStep,
    ExitStep,
    Filter,
    FilterPredicate,
    FlowTriggerInput,
    LocalTime,
    SendCampaignBody,
    SmsMessage,
    SplitBranch,
    SplitStep,
    TemplateAttributes,
    TextSectionInput,
    TextSectionInputProps,
    TriggerAttributes,
    WaitStep,
)

for module in pkgutil.walk_packages(client.__path__, "client."):
    importlib.import_module(module.name)

api = AuthenticatedClient(
    base_url=os.environ["BASE_URL"], token=os.environ["API_KEY"], raise_on_unexpected_status=True
)
list_id = int(os.environ["LIST_ID"])


def done(response):
    assert response.status_code < 300, response.content
    return response.parsed


email = EmailMessage(
    channel="email",
    to="Ada <ada@example.com>",
    subject="Your receipt",
    html="<p>Thank you</p>",
    tags=EmailMessageTags.from_dict({"order": "1042"}),
)
sms = SmsMessage(channel="sms", to="+14155550123", body="Thank you")
converted = ExitStep(type_="exit", reason="converted")
steps = [
    EmailStep(type_="email", subject="Welcome", body="Hi {{ contact.first_name }}"),
    WaitStep(type_="wait", until=LocalTime(time="09:00", weekdays=[1, 2], timezone="contact")),
    ConditionStep(
        type_="condition",
        filters=[Filter(name="data.plan", predicate=FilterPredicate.EQ, value="pro")],
        yes=[AddToListStep(type_="add_to_list", list_id=list_id)],
        no=[
            SplitStep(
                type_="split", branches=[SplitBranch(weight=50, steps=[converted]), SplitBranch(weight=50)]
            )
        ],
    ),
]

sent = done(send_message.sync_detailed(client=api, body=email))
done(send_message.sync_detailed(client=api, body=sms))
message = done(get_message.sync_detailed(sent.id, client=api))
data = CreateCampaignBodyData(options=CampaignOptions(throttle_per_minute=600))
data["team"] = "growth"
text = TextSectionInput(type_="text", props=TextSectionInputProps(html="<p>Spring sale</p>"))
campaign = done(
    create_campaign.sync_detailed(
        client=api,
        body=CreateCampaignBody(
            name="Spring sale",
            data=data,
            trigger_attributes=TriggerAttributes(contact_list_id=list_id),
            template_attributes=TemplateAttributes(subject="Spring sale", design=DesignInput(sections=[text])),
        ),
    )
)
started = done(send_campaign.sync_detailed(campaign.id, client=api, body=SendCampaignBody()))
flow = done(
    create_flow.sync_detailed(
        client=api,
        body=CreateFlowBody(name="Welcome", trigger=FlowTriggerInput(event="signed_up"), steps=steps),
    )
)
active = done(activate_flow.sync_detailed(flow.id, client=api, body=ActivateFlowBody()))

print(
    json.dumps(
        {
            "message": {"id": message.id, "subject": message.subject},
            "campaign": {
                "id": started.id,
                "status": started.status,
                "section": started.template.design.sections[0].type_,
            },
            "flow": {"id": active.id, "status": active.status, "steps": [step.type_ for step in active.steps]},
        }
    )
)
