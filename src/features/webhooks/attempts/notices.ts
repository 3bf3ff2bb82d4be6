import type { OwnerNotice } from '../../system-mail/service.ts';

/** A webhook as its owners are told of it. */
export interface FailingWebhook {
  id: number;
  url: string;
  failingSince: Date;
}

/** Paths and queries of URLs may hold secrets, and mail is read by many. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'an address that cannot be read';
}

function day(date: Date): string {
  return `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

const ACKNOWLEDGE = 'It acknowledges a delivery by answering with any 2xx status within 10 seconds.';

/** After a day of failure. */
export function warningNotice({ id, url, failingSince }: FailingWebhook, disableAt: Date): OwnerNotice {
  const host = hostOf(url);
  return {
    subject: `Your webhook at ${host} is failing`,
    paragraphs: [
      `Webhook ${id} at ${host} has acknowledged no delivery since ${day(failingSince)}.`,
      `We go on trying. If it still fails on ${day(disableAt)}, it is turned off, and events that occur from then on are not sent to it.`,
      `What to do: see that the endpoint is up. ${ACKNOWLEDGE}`,
      `What we sent and what it answered: GET /v1/my/webhooks/${id}/deliveries`,
    ],
  };
}

/** After three. */
export function disabledNotice({ id, url, failingSince }: FailingWebhook, disabledAt: Date): OwnerNotice {
  const host = hostOf(url);
  return {
    subject: `Your webhook at ${host} was turned off`,
    paragraphs: [
      `Webhook ${id} at ${host} has acknowledged no delivery since ${day(failingSince)}. On ${day(disabledAt)} we turned it off.`,
      'Events that waited for a retry are not sent any more, nor are those that occur while it is off, also after it is on again.',
      `What to do: repair the endpoint, then turn the webhook on again: PATCH /v1/my/webhooks/${id} with {"enabled": true}. ${ACKNOWLEDGE}`,
      `What we sent and what it answered in the last 7 days: GET /v1/my/webhooks/${id}/deliveries`,
    ],
  };
}
