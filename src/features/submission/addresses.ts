/** Who gets a submitted mail, and whom its header names. */
import type { Mailbox } from 'postal-mime';
import type { MailToSend } from '../messages/service.ts';
import { quotedName } from '../../delivery/content/read/mailboxes.ts';
import { type EmailAddress, parseEmailAddress } from '../../delivery/terms/addresses/email.ts';
import { SubmissionRefusal } from '../../delivery/wire/submission/port.ts';
import type { SubmittedFields } from './fields.ts';

/** In To and Cc, of those who do not get the mail. */
const MAX_ADDRESSES = 500;

/** An address with its name, as a request gives it. */
export function addressText({ name, address }: Mailbox): string {
  const shown = name.trim();
  return shown === '' ? address : `${quotedName(shown)} <${address}>`;
}

/** @throws SubmissionRefusal */
function parsed(field: string, mailbox: Mailbox): EmailAddress {
  const found = parseEmailAddress(addressText(mailbox));
  if (!('error' in found)) return found;
  const shown = mailbox.address || mailbox.name;
  throw new SubmissionRefusal(553, '5.1.3', `${field}: ${shown} ${found.error}`);
}

/** The only address in From. @throws SubmissionRefusal */
export function senderIn({ from }: SubmittedFields): string {
  const [only] = from;
  if (!only || from.length > 1) {
    throw new SubmissionRefusal(550, '5.7.1', 'sender_not_verified: From must name exactly one address');
  }
  parsed('From', only);
  return addressText(only);
}

interface Sorted extends Pick<MailToSend, 'recipients' | 'addresses' | 'places'> {
  /** Number of addresses of To and Cc that are left out, because To or Cc has named them before. */
  repeated: number;
}

/**
 * Sorts the recipients of the envelope by the fields of the header that name them. Those that no field names are `bcc`.
 * @throws SubmissionRefusal if the header has something that is no address, or too many
 */
export function sortRecipients({ to, cc }: SubmittedFields, envelope: readonly EmailAddress[]): Sorted {
  const left = new Map(envelope.map((each) => [each.key, each]));
  const recipients: { kind: 'to' | 'cc' | 'bcc'; address: string; place: number }[] = [];
  const addresses: { kind: 'to' | 'cc'; address: string; addressKey: string; place: number }[] = [];
  const seen = new Set<string>();
  const header = [...to.map((each) => ['to', each] as const), ...cc.map((each) => ['cc', each] as const)];
  for (const [kind, mailbox] of header) {
    const { key } = parsed(kind === 'to' ? 'To' : 'Cc', mailbox);
    if (seen.has(key)) continue;
    seen.add(key);
    const placed = { kind, address: addressText(mailbox), place: seen.size };
    if (left.delete(key)) recipients.push(placed);
    else addresses.push({ ...placed, addressKey: key });
  }
  if (addresses.length > MAX_ADDRESSES) {
    const problem = `To and Cc name more than ${MAX_ADDRESSES} addresses that do not get the mail`;
    throw new SubmissionRefusal(554, '5.6.0', problem);
  }
  for (const { address } of left.values()) recipients.push({ kind: 'bcc', address, place: 0 });
  return {
    recipients,
    addresses,
    repeated: header.length - seen.size,
    places: addresses.length > 0 ? recipients.map(({ place }) => place) : undefined,
  };
}
