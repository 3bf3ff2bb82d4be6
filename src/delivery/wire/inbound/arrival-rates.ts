import { createTokenBuckets } from '../../../platform/processes/token-buckets.ts';
import { networkOf } from '../listening/connections.ts';

export interface MaxMails {
  /** Mails of one sender, from one network, to one inbox in a minute; 0: no limit. */
  senderPerMinute: number;
  /** Mails of one network to all inboxes in a minute; 0: no limit. */
  networkPerMinute: number;
}

/** The sender of a mail and its inbox. */
export interface MailToInbox {
  /** The network of the client, or the account that delivers the mail. */
  network: string;
  /** The client that sent the mail to us, or to the server that delivers it over HTTP; null: not known. */
  ip: string | null;
  /** The envelope sender, which anyone can choose; empty for the null return path. */
  sender: string;
  inboxId: number;
}

/** Limits how many mails arrive at inboxes. */
export interface ArrivalRates {
  /**
   * Whether a mail may arrive. Counts it for its network, but not for its sender: it may never be sent.
   * @returns false if it exceeds a limit
   */
  admit(mail: MailToInbox): boolean;
  /** Counts a mail that was stored for its sender, even if that exceeds the limit meanwhile. */
  count(mail: MailToInbox): void;
}

/** A bucket takes about 200 bytes. */
const MAX_BUCKETS = 100_000;

/**
 * The network is part of the key: otherwise, anyone who names a sender could use up what its mails may use. An address
 * may contain any character, so it comes last.
 */
const senderKey = ({ network, ip, sender, inboxId }: MailToInbox) =>
  `sender ${inboxId} ${ip === null ? network : networkOf(ip)} ${sender.toLowerCase()}`;

/** Counts the mails that this process receives. Senders may choose any address, so the buckets are bounded. */
export function createArrivalRates(max: MaxMails, nowMs?: () => number): ArrivalRates {
  const buckets = createTokenBuckets(nowMs, MAX_BUCKETS);
  const ask = (how: 'take' | 'peek', key: string, perMinute: number) =>
    perMinute === 0 || buckets[how](key, perMinute / 60, perMinute).allowed;
  return {
    admit: (mail) =>
      ask('take', `network ${mail.network}`, max.networkPerMinute) &&
      ask('peek', senderKey(mail), max.senderPerMinute),
    count: (mail) => void ask('take', senderKey(mail), max.senderPerMinute),
  };
}
