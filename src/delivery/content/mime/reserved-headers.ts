/**
 * Headers that a client must not set: those that Carillon writes, and those that a provider or mail server reads as an
 * instruction. With SendGrid, for example, `X-SMTPAPI` adds recipients.
 *
 * Clients may set headers that only describe the message: List-Unsubscribe, Precedence, Auto-Submitted, X-Campaign,
 * X-Entity-Ref-ID and the like.
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
  // They direct bounces, receipts or complaints to an address of the client's choice.
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
  // Complaint feedback (RFC 9477), and its predecessors.
  'cfbl-',
  'x-csa-',
  'x-report-abuse',
  'x-abuse-',
  // Prefixes of providers.
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
  // Exchange, Microsoft 365, Azure and Google trust these for verdicts and routing if they come through a trusted
  // connector.
  'x-ms-exchange-',
  'x-ms-acsemail-',
  'x-microsoft-antispam',
  'x-forefront-',
  'x-gm-',
  // Verdicts of a spam filter, which the next server may trust.
  'x-spam-',
];

/** The rule for the API's description, one clause for each group. */
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
