/** Why a message waits or did not arrive, in plain words: what happened, and what the reader can do. */
import type { Schemas } from '../../api/client.ts';
import type { Tone } from '../../ui/notice.tsx';

type Message = Schemas['Message'];

export interface Reason {
  /** What happened, in a few words. */
  title: string;
  /** What it means. */
  text: string;
  /** What the reader can do; null if there is nothing to do. */
  advice: string | null;
  /** The page where it can be done, below the brand. */
  page?: { to: string; text: string; managersOnly?: boolean };
}

type Holds = NonNullable<Message['hold']>['reason'];

const WAITS = 'It waits at most 72 hours, then it fails.';
const WALLET = { to: '/wallet', text: 'Open the wallet', managersOnly: true };
const DOMAINS = { to: '/domains', text: 'Open domains' };
const SUPPRESSIONS = { to: '/suppressions', text: 'Open suppressions' };

const HOLDS: Record<Holds, Reason> = {
  account_paused: {
    title: 'Sending is paused for the account',
    text: `No message of the account leaves. ${WAITS}`,
    advice: 'Ask the operator of the service to resume sending. The overview shows why it was paused.',
    page: { to: '', text: 'Open the overview' },
  },
  domain_unverified: {
    title: 'The sending domain is not verified',
    text: `The DNS records of the domain in “From” are missing or have changed. ${WAITS}`,
    advice: 'Publish the records again. The message leaves as soon as the domain is verified.',
    page: DOMAINS,
  },
  warm_up: {
    title: 'The sending domain is warming up',
    text: 'The domain is new and has sent what it may send today. Campaigns and flows continue tomorrow (UTC).',
    advice: null,
  },
  pacing: {
    title: 'The sending domain has reached its pace',
    text: 'The domain has sent what it may send in this minute. The message leaves by itself.',
    advice: null,
  },
  allowance: {
    title: 'The messages of 24 hours are used up',
    text: `The account has an allowance for any 24 hours. Messages leave as older ones stop counting. ${WAITS}`,
    advice: 'Wait, or ask the operator of the service for a larger allowance.',
    page: { to: '', text: 'Open the overview' },
  },
  spend_cap: {
    title: 'The spend cap of this month is reached',
    text: `Your account has a monthly spend cap, and the next message would exceed it. ${WAITS}`,
    advice: 'Raise the cap, or wait for the next month (UTC).',
    page: { to: '/account', text: 'Open the account' },
  },
  wallet: {
    title: 'The wallet does not cover the message',
    text: `The funds of the account are too low. ${WAITS}`,
    advice: 'Add funds. Held messages then leave.',
    page: WALLET,
  },
  provider_unavailable: {
    title: 'No provider can take the message',
    text: `The service through which this kind of message is sent is not set up or cannot be used now. ${WAITS}`,
    advice: 'Ask the operator of the service to check the provider.',
  },
  provider_cannot_take: {
    title: 'The provider cannot take the message',
    text: `With its files, the message is larger than the provider allows, or the provider cannot send one letter to several recipients, and no other provider of the account can be used now. ${WAITS}`,
    advice: 'Send a link to the file instead, or ask the operator of the service for another provider.',
  },
};

/** Returns in a few words why a message was held; null for a reason that is not known here. */
export const holdTitle = (reason: unknown): string | null =>
  Object.entries(HOLDS).find(([name]) => name === reason)?.[1].title ?? null;

const FAILURES: Record<string, Reason> = {
  suppressed: {
    title: 'The address is suppressed',
    text: 'Earlier mail to this address bounced or was reported as spam, or someone added it by hand. Nothing is sent to it.',
    advice: 'If you are sure that the address works and wants your mail, end its suppression and send again.',
    page: SUPPRESSIONS,
  },
  unsubscribed: {
    title: 'The contact has unsubscribed',
    text: 'The contact does not want campaigns and flows, so the message was left out.',
    advice: null,
  },
  contact_deleted: {
    title: 'The contact was deleted',
    text: 'The contact was gone when the message was due.',
    advice: null,
  },
  no_address: {
    title: 'The contact has no address',
    text: 'The contact lacks the email address or phone number that this message needs.',
    advice: 'Add the address to the contact.',
  },
  duplicate_address: {
    title: 'Another contact has the same address',
    text: 'Each address gets a campaign once. Another contact with this address received it.',
    advice: null,
  },
  frequency_cap: {
    title: 'The contact has had enough messages',
    text: 'The brand limits how many messages of campaigns and flows a contact gets in a period.',
    advice: 'Change the limit of the brand if it is too low.',
    page: { to: '/brand', text: 'Open the brand' },
  },
  no_price: {
    title: 'The country has no price',
    text: 'The service has no price for SMS to the country of this number.',
    advice: 'Ask the operator of the service to set a price for the country.',
  },
  expired: {
    title: 'It could not be sent within 72 hours',
    text: 'The message waited for its whole lifetime. The last response is below.',
    advice: 'Find out in the timeline what it waited for, then send it again.',
  },
  rejected: {
    title: 'The provider refused the message',
    text: 'The provider or the mail server did not accept the message, and another try would not help.',
    advice: 'Its response below says why. Correct what it names, then send again.',
  },
  invalid_recipient: {
    title: 'The recipient’s address is not valid',
    text: 'The provider cannot send to this address or number.',
    advice: 'Check the address for mistakes, then send to the right one.',
  },
  content_rejected: {
    title: 'The content was refused',
    text: 'The content could not be composed, or the provider does not accept it.',
    advice: 'The response below says what is wrong. Change the content, then send again.',
  },
  sender_rejected: {
    title: 'The sender was refused',
    text: 'The message may not be sent from the address in “From”.',
    advice: 'Verify the domain of the sender, or send from another address.',
    page: DOMAINS,
  },
  provider_error: {
    title: 'The provider has failed',
    text: 'The provider accepted the message but reports that it could not send it.',
    advice: 'Send it again. If it fails again, ask the operator of the service.',
  },
  insufficient_funds: {
    title: 'The wallet did not cover the message',
    text: 'The message waited 72 hours for funds.',
    advice: 'Add funds, then send again.',
    page: WALLET,
  },
  spend_cap_reached: {
    title: 'The spend cap was reached',
    text: 'The message waited 72 hours for the monthly spend cap.',
    advice: 'Raise the cap, then send again.',
    page: { to: '/account', text: 'Open the account' },
  },
  canceled: {
    title: 'It was canceled',
    text: 'The message, or its campaign, flow or run, was canceled before it left.',
    advice: null,
  },
};

const BOUNCES: Record<string, Reason> = {
  no_such_mailbox: {
    title: 'There is no such mailbox',
    text: 'The mail server of the recipient does not know the address.',
    advice: 'Check the address for mistakes, or ask the recipient for the right one.',
  },
  no_such_domain: {
    title: 'There is no such domain',
    text: 'The part of the address after “@” does not take mail.',
    advice: 'Check the address for mistakes.',
  },
  bad_address: {
    title: 'The address is not valid',
    text: 'The mail server of the recipient cannot read the address.',
    advice: 'Check the address for mistakes.',
  },
  moved: {
    title: 'The mailbox has moved',
    text: 'The recipient has another address now.',
    advice: 'The response below may name the new address.',
  },
  mailbox_disabled: {
    title: 'The mailbox is disabled',
    text: 'The address exists, but its mailbox takes no mail.',
    advice: 'Ask the recipient for another address.',
  },
  mailbox_full: {
    title: 'The mailbox is full',
    text: 'The recipient has no room for more mail.',
    advice: 'Send again later.',
  },
  expired: {
    title: 'The mail server did not take it in time',
    text: 'The mail server of the recipient put the message off until it expired.',
    advice: 'Send again later. The response below is the last one.',
  },
  provider_suppressed: {
    title: 'The provider does not send to this address',
    text: 'The provider has the address on its own list, because earlier mail bounced or was reported as spam.',
    advice: 'Ask the operator of the service to remove the address from the list of the provider.',
  },
  blocked: {
    title: 'The recipient’s mail server blocks the mail',
    text: 'The mail server refuses the sender or the content, for example as spam.',
    advice: 'The response below says why. Check that the domain of the sender is verified.',
    page: DOMAINS,
  },
};

const OTHER_BOUNCE: Reason = {
  title: 'The recipient’s mail server refused it',
  text: 'The mail came back.',
  advice: 'The response below says why.',
};

const OTHER_FAILURE: Reason = {
  title: 'It was not sent',
  text: 'The message will not be sent.',
  advice: 'The response below says why.',
};

const COMPLAINED: Reason = {
  title: 'The recipient reported it as spam',
  text: 'The message arrived, and the recipient marked it as spam. The address is suppressed now.',
  advice: 'Do not send to this address again, unless the recipient asks for it.',
  page: SUPPRESSIONS,
};

const UNKNOWN: Reason = {
  title: 'It is not known whether it was sent',
  text: 'The message was handed to the provider, but its response was lost. A report from the provider can still settle it.',
  advice:
    'Messages sent one by one, and those of flows that say so, are handed over again by themselves. Before you send again, expect that it may arrive twice.',
};

const HARD = ' The address is suppressed now, so nothing more is sent to it.';

function bounceReason({ type, subtype }: NonNullable<Message['bounce']>): Reason {
  const reason = BOUNCES[subtype] ?? OTHER_BOUNCE;
  return type === 'hard' ? { page: SUPPRESSIONS, ...reason, text: reason.text + HARD } : reason;
}

/** Returns why the message waits or did not arrive; null if nothing is wrong. */
export function reasonOf({ status, hold, failure, bounce }: Message): Reason | null {
  switch (status) {
    case 'held':
      return hold && HOLDS[hold.reason];
    case 'bounced':
      return bounce ? bounceReason(bounce) : OTHER_BOUNCE;
    case 'complained':
      return COMPLAINED;
    case 'unknown':
      return UNKNOWN;
    case 'failed':
    case 'skipped':
    case 'canceled':
      return (failure && FAILURES[failure.code]) ?? (status === 'failed' ? OTHER_FAILURE : null);
    default:
      return null;
  }
}

/** The states in which a message needs the reader's attention. */
export const problemStates = ['held', 'failed', 'bounced', 'complained', 'unknown'] as const;

export const toneOf = ({ status }: Pick<Message, 'status'>): Tone => {
  if (status === 'held') return 'warn';
  return status === 'skipped' || status === 'canceled' ? 'quiet' : 'bad';
};

/** The code of the reason, as the API names it; null if there is none. */
export const codeOf = ({ hold, failure, bounce, status }: Message): string | null => {
  if (status === 'held') return hold?.reason ?? null;
  if (status === 'bounced') return bounce ? `${bounce.type} ${bounce.subtype}` : null;
  return failure?.code ?? null;
};

/** The answer of the mail server or provider, in its own words; null if there is none. */
export const answerOf = ({ failure, bounce }: Message): string | null =>
  bounce?.diagnostic ?? failure?.message ?? null;
