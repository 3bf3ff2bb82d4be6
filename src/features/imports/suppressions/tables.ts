/** The suppression lists of other services. Headings and words are reduced to lower-case letters and digits. */
import type { SuppressionReason } from '../../../delivery/ledger/consent/suppressions.ts';
import type { ColumnField } from '../schema.ts';

/**
 * What the columns of such files are called, besides the names that contacts have:
 * - SendGrid `status, reason, email, created`; spam reports `ip, email, created`
 *   (https://www.twilio.com/docs/sendgrid/api-reference, "Bounces", "Blocks", "Invalid Emails", "Spam Reports")
 * - Postmark `EmailAddress, SuppressionReason, Origin, CreatedAt`
 *   (https://postmarkapp.com/developer/api/suppressions-api), bounces `Type, Email, Details, Description`
 * - Amazon SES `EmailAddress, Reason, LastUpdateTime` (SuppressedDestinationSummary,
 *   https://docs.aws.amazon.com/ses/latest/APIReference-V2)
 * - Mailgun `address, code, error, created_at`, `address, tags, created_at` and `address, created_at`
 *   (https://documentation.mailgun.com, "Suppressions")
 * - listmonk `uuid, email, name, attributes, status` (https://listmonk.app/docs/apis/subscribers)
 * - Mailchimp `Email Address, …, CLEAN_TIME` and `UNSUB_TIME, UNSUB_REASON`
 *   (https://mailchimp.com/help/view-export-contacts)
 * - Mandrill `email, reason, detail, expires_at` (https://mailchimp.com/developer/transactional/api/rejects)
 * - SparkPost `recipient, type, source, description` (https://developers.sparkpost.com/api/suppression-list)
 * - Brevo `email, reason` of blocked contacts (https://developers.brevo.com/reference/getblockedcontacts)
 */
export const suppressionHeadings: Partial<Record<ColumnField, readonly string[]>> = {
  email: [
    'address',
    'recipient',
    'recipientemail',
    'to',
    'bouncedemail',
    'blockedemail',
    'suppressedemail',
    'emailid',
  ],
  diagnostic: [
    ...[
      'diagnostic',
      'error',
      'errormessage',
      'detail',
      'details',
      'description',
      'smtpresponse',
      'response',
    ],
    ...['diagnosticcode', 'bouncemessage', 'message'],
  ],
  status_code: ['code', 'statuscode', 'smtpcode', 'errorcode', 'bouncecode', 'enhancedstatus'],
};

/** Headings of the column of reasons, the best first: a file has one such column, whatever its other columns are. */
export const reasonHeadings: readonly string[] = [
  ...['reason', 'suppressionreason', 'unsubreason', 'unsubscribereason', 'blockedreason', 'bouncereason'],
  ...['reasoncode', 'suppressiontype', 'bouncetype', 'event', 'category', 'type', 'status'],
];

/** Columns of reasons that are called otherwise, in files that have all of these headings: those of SparkPost. */
export const reasonColumns: readonly { headings: readonly string[]; reason: string }[] = [
  { headings: ['recipient', 'type', 'source'], reason: 'source' },
];

/**
 * Why all addresses of a file are suppressed, by headings that no other list has. All of them must be there; the first
 * that fits counts.
 */
export const reasonsOfFiles: readonly { headings: readonly string[]; reason: SuppressionReason }[] = [
  // Mailchimp, of addresses that bounced and of people who unsubscribed
  { headings: ['cleantime'], reason: 'hard_bounce' },
  { headings: ['unsubtime'], reason: 'manual' },
  // Mailgun, of bounces
  { headings: ['address', 'code', 'error'], reason: 'hard_bounce' },
  // SendGrid, of spam reports: no other list has the address of the reporter
  { headings: ['ip', 'email', 'created'], reason: 'complaint' },
];

/**
 * Headings of suppression lists that no list of contacts has. All of them must be there. Lists with a column about consent,
 * such as those of Mailchimp and Postmark, are read as lists of contacts, too.
 */
export const suppressionLists: readonly { of: string; headings: readonly string[] }[] = [
  { of: 'SendGrid', headings: ['email', 'reason', 'created'] },
  { of: 'SendGrid', headings: ['ip', 'email', 'created'] },
  { of: 'Mailgun', headings: ['address', 'code', 'error'] },
  { of: 'Amazon SES', headings: ['emailaddress', 'reason', 'lastupdatetime'] },
  { of: 'Mandrill', headings: ['email', 'reason', 'detail'] },
  { of: 'SparkPost', headings: ['recipient', 'type', 'source', 'description'] },
];

/** What a word means: a reason, or that the address is not suppressed at all. */
export type Meaning = SuppressionReason | 'none';

const words: Record<Meaning, string> = {
  hard_bounce: [
    // Carillon; Postmark, also its types of bounces
    'hardbounce hardbounces hardbounced permanent permanentbounce bademailaddress',
    // Amazon SES; SparkPost; Mandrill; Brevo; Klaviyo; MailerSend; Resend; Elastic Email
    'bounce bounces bounced bouncerule invalidemail invalidemails invalid invalidaddress invalidrecipient',
    // Mailchimp; HubSpot; ActiveCampaign
    'cleaned undeliverable nosuchuser unknownuser mailboxnotfound doesnotexist bouncedaddress',
    // SendGrid, of invalid addresses
    'maildomainmentionedinemailaddressisunknown knownbaddomain unresolvableemail emailaddressisinvalid',
  ].join(' '),
  soft_bounce:
    'softbounce softbounces softbounced transient transientbounce temporary block blocks mailboxfull',
  complaint: [
    'complaint complaints complained complainant spam spamreport spamreports spamreported spamcomplaint spamcomplaints',
    'spamnotification markedasspam contactflaggedasspam flaggedasspam abuse abusecomplaint abusereport reportedspam',
    'feedbackloop fbl spamreportingaddress',
  ].join(' '),
  manual: [
    'manual manualsuppression manuallyadded manuallydeactivated manualblock added custom admin adminblocked',
    'adminunsubscribed compliance import imported customer recipient user usersuppressed suppressed suppression',
    'unsubscribe unsubscribes unsubscribed unsub listunsubscribe unsubscribelink globalunsubscribe globalunsubscribes',
    'groupunsubscribe groupunsubscribes unsubscribedaddress unsubscribedviaemail unsubscribedviama unsubscribedviaapi',
    'optout optouts optedout blocklisted blocklist blacklisted blacklist blocked donotcontact donotemail transactional',
    // Mailchimp, of people who unsubscribed
    'nontransactional normal nosignup inappropriate other nonsubscribed',
  ].join(' '),
  // listmonk `enabled` and `disabled`: only blocklisted subscribers get no mail of any list
  none: 'enabled disabled subscribed active delivered confirmed unconfirmed allowlist allowlisted whitelist whitelisted',
};

export const reasonWords: ReadonlyMap<string, Meaning> = new Map(
  Object.entries(words).flatMap(([meaning, list]) =>
    list.split(' ').map((word): [string, Meaning] => [word, meaning as Meaning]),
  ),
);
