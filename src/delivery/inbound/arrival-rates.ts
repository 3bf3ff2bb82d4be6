import { createTokenBuckets } from '../../platform/processes/token-buckets.ts';

export interface MaxMails {
  /** Mails of one sender to one inbox in a minute; 0: no limit. */
  senderPerMinute: number;
  /** Mails of one network to all inboxes in a minute; 0: no limit. */
  networkPerMinute: number;
}

/** Limits how many mails arrive at inboxes. */
export interface ArrivalRates {
  /**
   * Counts a mail to an inbox.
   * @param mail.sender empty for the null return path, which all servers use; it is counted for each network
   * @returns false if it exceeds a limit
   */
  admit(mail: { network: string; sender: string; inboxId: number }): boolean;
}

/** A bucket takes about 200 bytes. */
const MAX_BUCKETS = 100_000;

/** Counts the mails that this process receives. Senders may choose any address, so the buckets are bounded. */
export function createArrivalRates(max: MaxMails, nowMs?: () => number): ArrivalRates {
  const buckets = createTokenBuckets(nowMs, MAX_BUCKETS);
  const take = (key: string, perMinute: number) =>
    perMinute === 0 || buckets.take(key, perMinute / 60, perMinute).allowed;
  return {
    admit({ network, sender, inboxId }) {
      if (!take(`network ${network}`, max.networkPerMinute)) return false;
      const name = sender === '' ? `<> ${network}` : sender.toLowerCase();
      return take(`sender ${inboxId} ${name}`, max.senderPerMinute);
    },
  };
}
