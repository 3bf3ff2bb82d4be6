/** The headings about subscriptions in the exports of other tools, as plain data, and how others are recognized. */
import { simplified } from './words.ts';

/** Whose subscription a column is about. */
export type ConsentChannel = 'all' | 'email' | 'phone';

/**
 * How the cells of a column are read.
 *
 * - `positive`: yes is a subscription. `inverse`: yes ends one. Both may have words of states or dates instead.
 * - `confirmed`: yes is a subscription, no waits for its confirmation.
 * - `ambiguous`: about consent only if all words are those of one tool's states.
 * - `bounced`, `complained`: yes, a date or another text says so.
 * - `opted_out`: any text but a no says so, such as a date or a reason.
 * - `opted_in_at`: the time of the opt-in, which does not subscribe by itself.
 */
export type ConsentKind =
  'positive' | 'inverse' | 'confirmed' | 'ambiguous' | 'bounced' | 'complained' | 'opted_out' | 'opted_in_at';

export interface ConsentHeading {
  channel: ConsentChannel;
  kind: ConsentKind;
}

type Headings = Readonly<Partial<Record<ConsentChannel, readonly string[]>>>;

/** Headings in the form of {@link simplified}. The comments name tools that have them. */
const known: Readonly<Record<ConsentKind, Headings>> = {
  positive: {
    all: [
      // Carillon, Mailgun, Loops, AWeber, MailerLite
      ...[
        'subscribed',
        'issubscribed',
        'optin',
        'optedin',
        'subscriptionstatus',
        'subscriberstatus',
        'subscribestatus',
      ],
      // Shopify before 2022, Squarespace, Podia
      ...[
        'acceptsmarketing',
        'acceptmarketing',
        'marketing',
        'marketingoptin',
        'marketingconsent',
        'marketingstatus',
      ],
      // Pipedrive, HubSpot, Kajabi, Attentive
      ...['marketingpermission', 'marketingcontactstatus', 'marketingsubscription', 'optinstatus', 'consent'],
      ...['consentstatus', 'consentstate', 'gdprconsent', 'permission', 'permissionstatus'],
    ],
    email: [
      // Carillon; Shopify; WooCommerce; Braze; Segment
      ...['subscribedemail', 'emailsubscribed', 'emailoptin', 'emailoptedin', 'acceptsemailmarketing'],
      ...['emailmarketingconsent', 'emailmarketingconsentstate', 'emailsubscribe', 'emailsubscriptionstatus'],
      // Ghost; Wix; Omnisend; Constant Contact; BigCommerce
      ...[
        'subscribedtoemails',
        'subscribedtoemail',
        'emailsubscriberstatus',
        'emailstatus',
        'emailpermissionstatus',
      ],
      ...[
        'emailmarketing',
        'emailmarketingstatus',
        'emailmarketingoptin',
        'emailconsent',
        'emailconsentstatus',
      ],
      ...['receivemarketingemails', 'receivesmarketingemails', 'receivemarketingemail', 'emailpermission'],
      ...[
        'marketingemails',
        'marketingemail',
        'newsletter',
        'newslettersubscribed',
        'newsletterconsent',
        'newsletterstatus',
        'mailinglist',
      ],
      ...['newslettersubscription', 'newslettersubscriptionstatus', 'canemail', 'emailallowed', 'allowemail'],
    ],
    phone: [
      ...['subscribedphone', 'phonesubscribed', 'subscribedsms', 'smssubscribed', 'smsoptin', 'smsoptedin'],
      ...['acceptssmsmarketing', 'smsmarketingconsent', 'smsconsent', 'smsconsentstatus', 'smsstatus'],
      ...[
        'smssubscriberstatus',
        'smssubscriptionstatus',
        'smsmarketing',
        'smsmarketingstatus',
        'smspermission',
      ],
      ...[
        'smsmarketingoptin',
        'textoptin',
        'textmarketing',
        'phoneoptin',
        'phoneconsent',
        'smsmarketingconsentstate',
      ],
    ],
  },
  inverse: {
    all: [
      // Resend, Customer.io, Intercom, Marketo; Odoo, SuiteCRM, Zoho, Vtiger; phpList; Pardot
      ...[
        'unsubscribed',
        'isunsubscribed',
        'unsubscribe',
        'unsub',
        'optout',
        'optedout',
        'hasoptedout',
        'opted out',
      ],
      ...[
        'blacklisted',
        'blocklisted',
        'blacklist',
        'blocklist',
        'isblacklisted',
        'suppressed',
        'issuppressed',
      ],
      ...[
        'donotcontact',
        'dnc',
        'dnd',
        'marketingsuspended',
        'isexcludedfromcampaigns',
        'unsubscribedfromall',
      ],
      ...['globalunsubscribe', 'globallyunsubscribed', 'suppression', 'suppressionreason', 'marketingoptout'],
    ],
    email: [
      // Brevo; HubSpot; Salesforce; Dynamics; Substack; Teachable
      ...['emailblacklisted', 'emailblocklisted', 'unsubscribedfromallemail', 'unsubscribedfromallemails'],
      ...['hsemailoptout', 'emailoptout', 'emailoptedout', 'hasoptedoutofemail', 'personhasoptedoutofemail'],
      ...['optedoutofemail', 'donotemail', 'donotbulkemail', 'donotallowbulkemails', 'donotallowbulkemail'],
      ...[
        'donotallowemails',
        'emaildisabled',
        'emailunsubscribed',
        'unsubscribedfromemail',
        'unsubscribedfromemails',
      ],
      ...['unsubscribedfrommarketingemails', 'unsubscribefrommarketingemails', 'emailsuppressed'],
      // Klaviyo: a list of reasons
      ...['emailsuppressions', 'emailsuppression', 'noemail', 'donotmail'],
    ],
    phone: [
      ...[
        'smsblacklisted',
        'smsblocklisted',
        'smsoptout',
        'smsoptedout',
        'unsubscribedfromsms',
        'smsunsubscribed',
      ],
      ...[
        'hasoptedoutofsms',
        'donottext',
        'donotsms',
        'smssuppressed',
        'smssuppressions',
        'donotcall',
        'phoneoptout',
      ],
    ],
  },
  confirmed: {
    // phpList; Brevo; HubSpot; The Newsletter Plugin
    all: [
      'confirmed',
      'isconfirmed',
      'doubleoptin',
      'doubleoptinstatus',
      'doi',
      'doistatus',
      'optinconfirmed',
    ],
    email: ['emailconfirmed', 'marketingemailconfirmation', 'marketingemailconfirmationstatus'],
  },
  ambiguous: {
    all: [
      'status',
      'type',
      'state',
      'contactstatus',
      'memberstatus',
      'subscription',
      'subscribertype',
      'contacttype',
    ],
    email: [],
  },
  bounced: {
    // Intercom; HubSpot; Marketo; Eloqua; Mailchimp
    email: [
      ...[
        'bounced',
        'isbounced',
        'hardbounced',
        'hashardbounced',
        'emailbounced',
        'isemailbounced',
        'cleantime',
      ],
      ...['cleancampaigntitle', 'cleancampaignid', 'cleaned', 'invalidemailaddress', 'hsemailbadaddress'],
      ...['emailinvalid', 'emailhardbouncereason', 'hsemailhardbouncereason', 'hsemailhardbouncereasonenum'],
      ...['emailbouncedreason', 'emailbounceddate', 'hardbouncedat', 'bouncedat', 'emailhardbounced'],
    ],
  },
  complained: {
    email: [
      'markedemailasspam',
      'complained',
      'complainedat',
      'spamcomplaint',
      'markedasspam',
      'spamreported',
    ],
  },
  opted_out: {
    all: [
      // Mailchimp; Constant Contact; Kit, beehiiv, Buttondown; AWeber; The Newsletter Plugin; MailUp
      ...[
        'unsubtime',
        'unsubcampaigntitle',
        'unsubcampaignid',
        'unsubreason',
        'unsubreasonother',
        'unsubscribedat',
      ],
      ...['unsubscribedon', 'unsubscribetime', 'unsubscribetimestamp', 'unsubscribedate', 'unsubscribeddate'],
      ...[
        'dateunsubscribed',
        'unsubscriptiondate',
        'unsubscribereason',
        'unsubscribedreason',
        'unsubscriptionreason',
      ],
      ...[
        'optoutdate',
        'optouttime',
        'optouttimestamp',
        'optoutat',
        'optedoutat',
        'optedouton',
        'optouttype',
      ],
      ...[
        'dateoptedout',
        'confirmedoptoutdate',
        'confirmedoptoutreason',
        'optoutreason',
        'stoptime',
        'suppressedat',
      ],
      ...[
        'unsubemailid',
        'optoutnl',
        'optoutsubtype',
        'consentwithdrawnat',
        'consentrevokedat',
        'abmeldedatum',
        'blacklistedat',
        'blocklistedat',
      ],
    ],
    email: ['emailsuppressionstimestamp', 'emailoptoutdate', 'emailunsubscribedat', 'emailoptouttime'],
    phone: ['smssuppressionstimestamp', 'smsoptoutdate', 'smsunsubscribedat', 'smsoptouttime'],
  },
  opted_in_at: {
    all: [
      ...['optintime', 'confirmtime', 'optindate', 'optinat', 'optedinat', 'optedinon', 'optintimestamp'],
      ...[
        'confirmedoptindate',
        'subscribedat',
        'subscribedon',
        'subscribeddate',
        'datesubscribed',
        'subscribedate',
      ],
      ...[
        'subscriptiondate',
        'subscribersince',
        'confirmedat',
        'confirmationtime',
        'confirmationdate',
        'consentdate',
      ],
      ...['consentedat', 'consentgivenat', 'consenttimestamp', 'consentupdatedat', 'anmeldedatum'],
    ],
    email: [
      ...['emailmarketingconsenttimestamp', 'emailmarketingconsentupdatedat', 'emailconsenttimestamp'],
      ...['emailoptindate', 'emailconsentdate', 'emailoptinat', 'emailoptintime', 'emailsubscribedat'],
    ],
    phone: [
      ...[
        'smsmarketingconsenttimestamp',
        'smsconsenttimestamp',
        'smsoptindate',
        'smsconsentdate',
        'smsoptinat',
      ],
      ...['smsmarketingconsentupdatedat', 'smsoptintime', 'smssubscribedat'],
    ],
  },
};

const byHeading = new Map(
  Object.entries(known).flatMap(([kind, channels]) =>
    Object.entries(channels).flatMap(([channel, names]) =>
      names.map((name): [string, ConsentHeading] => [
        simplified(name),
        { channel: channel as ConsentChannel, kind: kind as ConsentKind },
      ]),
    ),
  ),
);

/** Headings that would look like consent, and are not: they are about what people pay for, or other channels. */
const OTHERS = [
  'activesubscription',
  // Mailchimp: what people may be contacted by, of those who are subscribed
  'marketingpermissions',
  'consenttotrack',
  'emailmarketingconsentmethod',
  'emailmarketingconsentoptinlevel',
];

/** Parts of a heading about consent, in the languages of spreadsheets. */
const CONSENT = new RegExp(
  [
    'subscri|unsub|consent|opt(?:ed)? ?(?:in|out)|blacklist|blocklist|suppress|newsletter|mailing ?list|e?mailable|contactable|gdpr|dsgvo|rgpd',
    '(?:do ?not|don t|never|no) ?(?:send|e?mail|contact|text|sms|bulk|call|market|newsletter|promo)',
    '(?:accept|receive|want|allow|agree)(?:s|ed)? ?(?:to )?(?:receive )?(?:marketing|e ?mail|sms|text|newsletter|promo|offer|contact)',
    '(?:can|may|ok to|okay to) (?:be )?(?:e ?mail|contact|text|sms|market)',
    '(?:e ?mail|marketing|contact|sms|mailing) (?:permission|ok|okay|allowed|permitted|excluded)|exclude.* (?:mail|market|campaign)',
    'einwilligung|einverst|zustimmung|werbesperre|sperrvermerk|sperrliste|mailsperre|werbewiderspruch|abgemeldet|abbestell|abmeld',
    'abonn|inscri|suscri|iscri|afgemeld|aangemeld|toestemming|consentimiento|consentement|consenso|zgod[ay]|wypisan',
    'подпис|отпис|рассыл|согласи|配信|メルマガ|同意|订阅|退订|訂閱|구독|수신',
  ].join('|'),
);
/** Parts that turn `yes` into a no. */
const INVERSE = new RegExp(
  [
    'unsub|opt(?:ed)? ?out|blacklist|blocklist|suppress|do ?not|don t|exclu|revoked|withdrawn|unmailable|uncontactable',
    '\\b(?:never|no) ?(?:send|e?mail|contact|text|sms|bulk|call|market|newsletter|promo)',
    'abgemeldet|abbestell|abmeld|widerr|widerspr|sperr|désinscri|desinscri|désabonn|desabonn|desuscri|disiscri|descadast',
    'baja|afgemeld|uitgeschreven|wypisan|отпис|停止|拒否|退订|退訂|거부',
  ].join('|'),
);
/** Words of headings about something else that belongs to a subscription: what it costs, or where it came from. */
const DETAILS = new RegExp(
  `\\b(?:${[
    'id|ids|uuid|url|uri|link|href|page|ip|plan|tier|price|amount|currency|interval|period|count|number|total|quantity',
    'mrr|ltv|renewal|renews?|trial|card|payment|paid|stripe|product|name|names|title|text|version|source|method|form|medium',
    'level|type|mode|category|preferences?|channels?|tracking|track|cookies?|language|locale|token|key|hash|lists?|groups?',
    'topics?|interests?|tags?|country|legal|basis|start|end|ends|expires?|expiry|push|whatsapp|fax|frequency|created|updated',
    'opens?|clicks?|sent|delivered|received|bounces|rating|score|notes?|comments?|address|city|zip|segment|value|revenue|orders?|length|duration|months?|years?|days?|weeks?',
  ].join('|')})\\b`,
);
const PHONE = /\b(?:sms|text|texts|phone|mobile)\b/;
const EMAIL = /e-?mails?|newsletter|mailing/;

/** Splits `emailOptOut`, `EMAIL_OPT_OUT` and `Email Opt-Out` into words. */
const wordsOf = (name: string): string =>
  name
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .replace(/__p?c$/, '')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .replace(/\b(?:yes no|y n|true false|ja nein|oui non|1 0|0 1)\b/, '')
    .trim();

/** HubSpot has a column of this form for each type of subscription, Salesforce suffixes for fields of one's own. */
const forms: readonly [RegExp, ConsentHeading][] = [
  [/^opted out of email /, { channel: 'email', kind: 'inverse' }],
  [/^opted out of sms /, { channel: 'phone', kind: 'inverse' }],
  [/^hs email optout \d+$/, { channel: 'email', kind: 'inverse' }],
];

function channelOf(words: string): ConsentChannel {
  if (PHONE.test(words)) return 'phone';
  return EMAIL.test(words) ? 'email' : 'all';
}

/**
 * Returns what a column says about subscriptions, by its heading.
 * @param name as in the file
 * @returns null if the heading does not look like consent
 */
export function consentHeading(name: string): ConsentHeading | null {
  const words = wordsOf(name);
  const text = simplified(words.replaceAll(' ', ''));
  const exact = byHeading.get(text);
  if (exact) return exact;
  const inner = byHeading.get(text.replace(/^(?:is|has|contact|customer|user)/, ''));
  // The status of a customer is not that of a subscription.
  if (inner && inner.kind !== 'ambiguous') return inner;
  const form = forms.find(([pattern]) => pattern.test(words));
  if (form) return form[1];
  if (OTHERS.includes(text) || !CONSENT.test(words)) return null;
  // A date, a reason or a list of opt-outs is one, whatever its column is called in detail.
  const isInverse = INVERSE.test(words) && !/\bnot (?:unsub|opted out|black|block|suppress)/.test(words);
  if (
    isInverse &&
    /\b(?:at|on|am|le|date|datum|time|timestamp|reason|campaign|lists?|groups?|topics?)\b/.test(words)
  ) {
    return { channel: channelOf(words), kind: 'opted_out' };
  }
  if (/\b(?:at|on|date|time|timestamp|since|day)\b/.test(words)) {
    return isInverse ? null : { channel: channelOf(words), kind: 'opted_in_at' };
  }
  if (DETAILS.test(words)) return null;
  return { channel: channelOf(words), kind: isInverse ? 'inverse' : 'positive' };
}
