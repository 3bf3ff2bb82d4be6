"""Sends a message, a campaign and a flow with the client that OpenAPI Generator makes."""

import importlib
import json
import os
import pkgutil

import client
from client import (
    AddToListStep,
    ApiClient,
    CampaignOptions,
    CampaignsApi,
    ConditionStep,
    Configuration,
    CreateCampaignRequest,
    CreateCampaignRequestData,
    CreateCampaignRequestDataOptions,
    CreateFlowRequest,
    DesignInput,
    DesignSectionInput,
    EmailMessage,
    EmailMessageTo,
    EmailStep,
    ExitStep,
    Filter,
    FlowStepInput,
    FlowTriggerInput,
    FlowsApi,
    LocalTime,
    MessagesApi,
    SendCampaignRequest,
    SendMessageRequest,
    SmsMessage,
    SplitBranch,
    SplitStep,
    TemplateAttributes,
    TextSectionInput,
    TriggerAttributes,
    WaitStep,
    WaitStepUntil,
)

for module in pkgutil.walk_packages(client.__path__, "client."):
    importlib.import_module(module.name)

api = ApiClient(Configuration(host=os.environ["BASE_URL"], access_token=os.environ["API_KEY"]))
list_id = int(os.environ["LIST_ID"])
messages, campaigns, flows = MessagesApi(api), CampaignsApi(api), FlowsApi(api)

email = EmailMessage(
    channel="email",
    to=EmailMessageTo("Ada <ada@example.com>"),
    subject="Your receipt",
    html="<p>Thank you</p>",
    tags={"order": "1042"},
)
sms = SmsMessage(channel="sms", to="+14155550123", body="Thank you")
until = LocalTime(time="09:00", weekdays=[1, 2], timezone="contact")
converted = FlowStepInput(ExitStep(type="exit", reason="converted"))
split = SplitStep(type="split", branches=[SplitBranch(weight=50, steps=[converted]), SplitBranch(weight=50)])
condition = ConditionStep(
    type="condition",
    filters=[Filter(name="data.plan", predicate="eq", value="pro")],
    yes=[FlowStepInput(AddToListStep(type="add_to_list", list_id=list_id))],
    no=[FlowStepInput(split)],
)
steps = [
    FlowStepInput(EmailStep(type="email", subject="Welcome", body="Hi {{ contact.first_name }}")),
    FlowStepInput(WaitStep(type="wait", until=WaitStepUntil(until))),
    FlowStepInput(condition),
]

sent = messages.send_message(SendMessageRequest(email))
messages.send_message(SendMessageRequest(sms))
message = messages.get_message(sent.id)
text = DesignSectionInput(TextSectionInput(type="text", props={"html": "<p>Spring sale</p>"}))
options = CreateCampaignRequestDataOptions(CampaignOptions(throttle_per_minute=600))
campaign = campaigns.create_campaign(
    CreateCampaignRequest(
        name="Spring sale",
        data=CreateCampaignRequestData(options=options, additional_properties={"team": "growth"}),
        trigger_attributes=TriggerAttributes(contact_list_id=list_id),
        template_attributes=TemplateAttributes(subject="Spring sale", design=DesignInput(sections=[text])),
    )
)
started = campaigns.send_campaign(campaign.id, send_campaign_request=SendCampaignRequest())
flow = flows.create_flow(
    CreateFlowRequest(name="Welcome", trigger=FlowTriggerInput(event="signed_up"), steps=steps)
)
active = flows.activate_flow(flow.id)

print(
    json.dumps(
        {
            "message": {"id": message.id, "subject": message.subject},
            "campaign": {
                "id": started.id,
                "status": started.status,
                "section": started.template.design.sections[0].actual_instance.type,
            },
            "flow": {"id": active.id, "status": active.status, "steps": [step.type for step in active.steps]},
        }
    )
)
