import type { Notice } from '../../system-mail/service.ts';

/** What a mail to the owners says about their webhook. */
export interface FailingWebhook {
  id: number;
  url: string;
  failingSince: Date;
}

/** Show only the host: the path and query of a URL may contain secrets, and many people may read the mail. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'an unreadable URL';
}

function formatTime(date: Date): string {
  return `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

const ACKNOWLEDGE = 'It acknowledges a delivery by responding with any 2xx status within 10 seconds.';

/** Sent after a day of continuous failure. */
export function warningNotice({ id, url, failingSince }: FailingWebhook, disableAt: Date): Notice {
  const host = hostOf(url);
  return {
    subject: `Your webhook at ${host} is failing`,
    paragraphs: [
      `Webhook ${id} at ${host} has acknowledged no delivery since ${formatTime(failingSince)}.`,
      `We keep retrying. If it still fails on ${formatTime(disableAt)}, we turn it off, and events that occur from then on are not sent to it.`,
      `What to do: make sure that the endpoint is running. ${ACKNOWLEDGE}`,
      `To see what we sent and how the endpoint responded: GET /v1/my/webhooks/${id}/deliveries`,
    ],
  };
}

/** Sent after three days of continuous failure. */
export function disabledNotice({ id, url, failingSince }: FailingWebhook, disabledAt: Date): Notice {
  const host = hostOf(url);
  return {
    subject: `Your webhook at ${host} was turned off`,
    paragraphs: [
      `Webhook ${id} at ${host} has acknowledged no delivery since ${formatTime(failingSince)}. On ${formatTime(disabledAt)} we turned it off.`,
      'Events that were waiting for a retry are no longer sent. Events that occur while the webhook is off are never sent, not even after you turn it on again.',
      `What to do: fix the endpoint, then turn the webhook on again: PATCH /v1/my/webhooks/${id} with {"enabled": true}. ${ACKNOWLEDGE}`,
      `To see what we sent in the last 7 days and how the endpoint responded: GET /v1/my/webhooks/${id}/deliveries`,
    ],
  };
}
