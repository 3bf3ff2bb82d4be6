/** Recognizes headings about subscriptions: those of other tools, and others by their words. */
import {
  type ConsentChannel,
  type ConsentHeading,
  type ConsentKind,
  knownHeadings,
} from './known-headings.ts';
import { simplified } from './words.ts';

const byHeading = new Map(
  Object.entries(knownHeadings).flatMap(([kind, channels]) =>
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
    '(?:can|may|ok to|okay to|permission to) (?:we |i )?(?:be )?(?:e ?mail|contact|text|sms|market)',
    '(?:cannot|can t|must not|may not|not to) (?:be )?(?:e ?mail|contact|text|sms|market)',
    '(?:receive|wants?|get) updates|keep me (?:informed|updated|posted)|promotional e ?mails?',
    '(?:e ?mail|marketing|contact|sms|mailing) (?:not )?(?:permission|ok|okay|allowed|permitted|excluded)|exclude.* (?:mail|market|campaign)',
    'einwilligung|einverst|zustimmung|werbesperre|sperrvermerk|sperrliste|mailsperre|werbewiderspruch|abgemeldet|abbestell|abmeld',
    'werbung (?:erlaubt|erwünscht|ok)|(?:keine|no) werbung|ne pas contacter|nieuwsbrief|nyhetsbrev|infolettre|boletín',
    'abonn|inscri|suscri|iscri|afgemeld|aangemeld|toestemming|consentimiento|consentement|consenso|zgod[ay]|wypisan',
    'подпис|отпис|рассыл|согласи|配信|メルマガ|同意|订阅|退订|訂閱|구독|수신',
  ].join('|'),
);
/** Parts that turn `yes` into a no. */
const INVERSE = new RegExp(
  [
    'unsub|opt(?:ed)? ?out|blacklist|blocklist|suppress|do ?not|don t|exclu(?!siv)|revoked|withdrawn|unmailable|uncontactable',
    '\\bnot (?:subscribed|opted in|consent|e?mailable|contactable|accept|agree|allow|permit)|no longer',
    '\\b(?:no|without|non) ?(?:consent|permission|opt ?in|subscri)|cannot|can t|must not|may not|not to be',
    'consent.* (?:expired|refused|denied|declined)',
    'keine werbung|ne pas contacter',
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
/** Of these, what a no can be about, as in `Text Message Opt Out` and `Email Address Opt Out`. */
const OF_NO = /\b(?:address|text|product|preferences?|channels?|sent|received|delivered)\b/g;
const PHONE = /\b(?:sms|text|texts|phone|mobile)\b/;
const EMAIL = /e-?mails?|newsletter|mailing|nieuwsbrief|nyhetsbrev|infolettre|boletín/;

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
    /\b(?:at|on|am|le|since|day|date|datum|time|timestamp|reason|campaign|lists?|groups?|topics?)\b/.test(
      words,
    )
  ) {
    return { channel: channelOf(words), kind: 'opted_out' };
  }
  if (/\b(?:at|on|date|time|timestamp|since|day)\b/.test(words)) {
    return isInverse ? null : { channel: channelOf(words), kind: 'opted_in_at' };
  }
  if (DETAILS.test(isInverse ? words.replace(OF_NO, '') : words)) return null;
  return { channel: channelOf(words), kind: isInverse ? 'inverse' : 'positive' };
}
