/**
 * Headers that a client may not set: those that Carillon writes, and those that a provider or mail server reads as an
 * instruction. Behind SendGrid, for example, `X-SMTPAPI` adds recipients.
 *
 * Headers that only describe the message stay with the client: List-Unsubscribe, Precedence, Auto-Submitted,
 * X-Campaign, X-Entity-Ref-ID and the like.
 */

/** In lower case. */
const RESERVED_NAMES: ReadonlySet<string> = new Set([
  // Carillon writes them, or they name other senders and recipients.
  'from',
  'to',
  'cc',
  'bcc',
  'apparently-to',
  'sender',
  'reply-to',
  'subject',
  'date',
  'message-id',
  'mime-version',
  // The path of a message, written by the servers that carry it. Delivered-To can make a server report a loop.
  'return-path',
  'received',
  'received-spf',
  'delivered-to',
  'authentication-results',
  'domainkey-signature',
  // Mail back to an address of the client's choice: bounces, receipts, complaints.
  'errors-to',
  'bounces-to',
  'x-confirm-reading-to',
  'feedback-id',
  'complaints-to',
  'x-complaints-to',
  'x-msfbl',
  // Brevo.
  'idempotencykey',
  'sender.ip',
  // SendGrid.
  'x-smtpapi',
  // PowerMTA.
  'x-virtual-mta',
  'x-virtualmta',
  'x-job',
  'x-envid',
  // Netcore and Pepipost.
  'x-apiheader',
]);

/** In lower case; each ends with the hyphen before the part that varies, unless the bare name is meant, too. */
const RESERVED_PREFIXES: readonly string[] = [
  'content-',
  'x-carillon-',
  'resent-',
  'arc-',
  'dkim-',
  'disposition-notification-',
  'return-receipt-',
  // Complaint feedback by RFC 9477, and its forerunners.
  'cfbl-',
  'x-csa-',
  'x-report-abuse',
  'x-abuse-',
  // Providers, each with its own prefixes.
  'x-ses-', // Amazon SES
  'x-sg-', // SendGrid
  'x-mailgun-',
  'x-mc-', // Mandrill
  'x-mandrill-',
  'x-pm-', // Postmark
  'x-postmark-',
  'x-msys-', // SparkPost, Bird, Momentum
  'x-mj-', // Mailjet
  'x-mailjet-',
  'x-mailin-', // Brevo
  'x-sib-', // Brevo
  'resend-', // Resend
  'x-mailersend-',
  'x-mt-', // Mailtrap
  'x-elasticemail-',
  'x-smtp2go-',
  'x-smtpeter-',
  'x-xs', // SocketLabs: X-xsMessageId, X-xsMailingId
  'x-cmail-', // Campaign Monitor
  'x-postal-',
  'x-mq-', // MailerQ
  'x-greenarrow-',
  'x-kumo', // KumoMTA: X-KumoRef
  'x-ee-', // EmailEngine
  // Exchange, Microsoft 365, Azure and Google take verdicts and routing from these behind a trusted connector.
  'x-ms-exchange-',
  'x-ms-acsemail-',
  'x-microsoft-antispam',
  'x-forefront-',
  'x-gm-',
  // Verdicts of a spam filter, which the next server may believe.
  'x-spam-',
];

/** The rule in one sentence for each group, for the API's description. */
export const RESERVED_HEADERS_DESCRIPTION =
  'Reserved: what Carillon writes (From, To, Cc, Bcc, Sender, Reply-To, Subject, Date, Message-ID, MIME-Version, ' +
  'Content-*, DKIM-*, Feedback-ID, X-Carillon-*); what servers write (Return-Path, Received, Received-SPF, ' +
  'Delivered-To, Resent-*, ARC-*, Authentication-Results, X-Spam-*); what asks for mail back (Errors-To, Bounces-To, ' +
  'Disposition-Notification-*, Return-Receipt-*, X-Confirm-Reading-To, Complaints-To, CFBL-*, X-CSA-*, ' +
  'X-Report-Abuse*); and what providers read as instructions (X-SMTPAPI, X-SG-*, X-SES-*, X-Mailgun-*, X-MC-*, ' +
  'X-PM-*, X-MSYS-*, X-MJ-*, X-Mailjet-*, X-Mailin-*, Resend-*, X-MS-Exchange-* and the like).';

/**
 * Whether only Carillon, a server or a provider may use a header.
 * @param name in any case
 */
export function isReservedHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return RESERVED_NAMES.has(lower) || RESERVED_PREFIXES.some((prefix) => lower.startsWith(prefix));
}
