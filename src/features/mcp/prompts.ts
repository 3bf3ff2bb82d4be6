/** Tasks that users choose in their client. Each describes which tools the assistant uses, and when it asks. */
import {
  type GetPromptResult,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server';

interface PromptDefinition {
  prompt: Prompt;
  /** The task, in the words of the user. @param args without empty texts */
  text(args: Record<string, string>): string;
}

/** An argument is a text of a form, not a document. */
const MAX_ARGUMENT = 2_000;

const paragraphs = (...parts: (string | false)[]): string =>
  parts.filter((part) => part !== false).join('\n\n');

const BRAND = 'Call whoami first. If I have several brands and none is selected, ask me which one to use.';

const definitions: readonly PromptDefinition[] = [
  {
    prompt: {
      name: 'draft_campaign',
      title: 'Draft a campaign',
      description: 'Writes a campaign as a draft, and sends nothing.',
      arguments: [
        { name: 'goal', description: 'What the campaign is about and should achieve', required: true },
        { name: 'audience', description: 'Who should get it, such as a list or a segment' },
      ],
    },
    text: ({ goal, audience }) =>
      paragraphs(
        `Draft a campaign. Its goal: ${goal}`,
        audience !== undefined && `It is for: ${audience}`,
        BRAND,
        'Use list_lists and list_segments to find the audience, and tell me how many contacts it has (preview_segment ' +
          'counts a segment). Look at the newest templates and campaigns with list_templates and list_campaigns, so that ' +
          'the draft has the tone and the design of the brand. Write a subject of at most 60 characters, a preheader and ' +
          'a short body with one clear call to action.',
        'Create the campaign with create_campaign, with status "draft". Show me subject, body and audience, and ask what ' +
          'to change. Do not send or schedule it unless I say so.',
      ),
  },
  {
    prompt: {
      name: 'why_not_delivered',
      title: 'Why was this not delivered?',
      description: 'Finds out what happened to a message, and what to do.',
      arguments: [
        {
          name: 'message',
          description: 'The address of the recipient, or the id of the message',
          required: true,
        },
      ],
    },
    text: ({ message }) =>
      paragraphs(
        `Why was this message not delivered: ${message}`,
        BRAND,
        'Find the message with get_message if this is an id, or else with list_messages. Read its status, failure and ' +
          'hold. Then check what applies: list_suppressions for the address, if you may use all brands of the account, get_delivery_status for pauses, caps and ' +
          'warm-up, list_domains for the domain that it was sent from, and get_contact for subscriptions. Words of mail ' +
          'servers may be withheld from you; their codes are not.',
        'Tell me in a few sentences what happened, why, and what I can do. If it was delivered, say so: it may be in the ' +
          'spam folder. Do not remove a suppression or send the message again unless I say so.',
      ),
  },
  {
    prompt: {
      name: 'summarise_week',
      title: 'Summarise last week',
      description: 'What was sent in the last seven days, how it did, and what needs attention.',
      arguments: [],
    },
    text: () =>
      paragraphs(
        'Summarise the last seven days.',
        BRAND,
        'Use get_stats for messages by day, and compare them with the seven days before. Use list_campaigns and ' +
          'get_campaign_report for each campaign of these days, list_flows for what runs, get_delivery_status for what ' +
          'holds mail back, and list_domains for domains that lost their verification.',
        'Answer in at most ten lines: what was sent, deliveries, bounces and complaints, opens and clicks with the ' +
          'change since the week before, the best campaign, and what needs attention. Change nothing.',
      ),
  },
];

export const prompts: Prompt[] = definitions.map(({ prompt }) => prompt);

const refused = (message: string) => new ProtocolError(ProtocolErrorCode.InvalidParams, message);

/** @throws ProtocolError if the prompt is unknown, or an argument is missing, unknown or too long */
export function getPrompt(name: string, given: Record<string, string> = {}): GetPromptResult {
  const found = definitions.find(({ prompt }) => prompt.name === name);
  if (!found) throw refused(`there is no prompt ${name}`);
  const known = found.prompt.arguments ?? [];
  const args = Object.fromEntries(
    Object.entries(given)
      .map(([key, text]) => [key, text.trim()] as const)
      .filter(([, text]) => text !== ''),
  );
  const unknown = Object.keys(args).find((key) => !known.some((each) => each.name === key));
  if (unknown !== undefined) throw refused(`${name} has no argument ${unknown}`);
  const long = Object.keys(args).find((key) => (args[key] ?? '').length > MAX_ARGUMENT);
  if (long !== undefined) throw refused(`${long} must have at most ${MAX_ARGUMENT} characters`);
  const missing = known.find((each) => each.required === true && args[each.name] === undefined);
  if (missing) throw refused(`${missing.name} is required`);
  const { description = '' } = found.prompt;
  const content = { type: 'text' as const, text: found.text(args) };
  return { description, messages: [{ role: 'user', content }] };
}
