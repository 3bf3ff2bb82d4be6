/**
 * The words for subscriptions in the exports of other tools, as plain data. Words are written in lower case, without
 * spaces and punctuation: see {@link simplified}.
 */

/** What a cell says about a subscription. */
export const consentStates = [
  'subscribed',
  'never_subscribed',
  'pending',
  'bounced',
  'unsubscribed',
  'complained',
] as const;
export type ConsentState = (typeof consentStates)[number];

export type WordTable = Readonly<Partial<Record<ConsentState, readonly string[]>>>;

/** Reduces a heading or a word to its letters and digits, in lower case. Other signs, such as a tick, stay as they are. */
export function simplified(text: string): string {
  const plain = text.trim().toLowerCase();
  return plain.replace(/[^\p{L}\p{N}]/gu, '') || plain;
}

/** Yes and no, in the languages of spreadsheets. */
export const YES: readonly string[] = [
  ...['true', 'yes', 'y', 't', '1', 'on', 'checked', 'ticked', '✓', '✔', '✅', '☑'],
  ...['ja', 'j', 'wahr', 'oui', 'vrai', 'si', 'sí', 'sì', 'verdadero', 'vero', 'sim', 'verdadeiro', 'waar'],
  ...[
    'tak',
    'prawda',
    'ano',
    'áno',
    'igen',
    'evet',
    'kyllä',
    'да',
    'так',
    'はい',
    '是',
    '예',
    'נכון',
    'כן',
    'نعم',
  ],
];
export const NO: readonly string[] = [
  ...['false', 'no', 'n', 'f', '0', 'off', 'unchecked', 'unticked', '✗', '✘', '❌', '☐'],
  ...['nein', 'falsch', 'non', 'faux', 'falso', 'não', 'nao', 'nee', 'onwaar', 'nej', 'nei'],
  ...['nie', 'fałsz', 'ne', 'nem', 'hayır', 'hayir', 'ei', 'нет', 'ні', 'いいえ', '否', '아니요', 'לא', 'لا'],
];

/** Cells that say nothing, like an empty one. Dates that were never set are zero in databases of MySQL. */
export const BLANK: readonly string[] = [
  ...['null', 'nil', 'nan', '-', '--', '–', '—', '\\n', '[]', '{}', '""', "''"],
  ...['00000000', '00000000000000', '00000000000000utc', '00010101000000', '00010101t000000z'],
];

/** Words of columns whose headings are about consent, besides those of `toolWords`, in several languages. */
export const generalWords: WordTable = {
  subscribed: [
    ...['subscriber', 'optedin', 'optin', 'consent', 'consented', 'granted', 'given', 'accepted', 'accepts'],
    ...['agreed', 'allow', 'allowed', 'approved', 'mailable', 'emailable', 'doubleoptin', 'singleoptin'],
    ...[
      '希望する',
      '配信中',
      '購読中',
      '已订阅',
      'подписан',
      'confirmedoptin',
      'softbounce',
      'softbounced',
      'notblocked',
      'notsuppressed',
      'signedup',
    ],
    ...[
      'angemeldet',
      'abonniert',
      'zugestimmt',
      'erteilt',
      'inscrit',
      'abonné',
      'suscrito',
      'activo',
      'iscritto',
    ],
    ...['inscrito', 'assinante', 'aangemeld', 'ingeschreven', 'aktiv', 'actif', 'attivo', 'ativo'],
  ],
  never_subscribed: [
    ...[
      'never',
      'na',
      'none',
      'unknown',
      'undefined',
      'notset',
      'nooptin',
      'notoptedin',
      'noconsent',
      'nonsubscriber',
    ],
    ...[
      'notapplicable',
      'unbekannt',
      'inconnu',
      'desconocido',
      'sconosciuto',
      'nichtangemeldet',
      'nonmarketing',
    ],
  ],
  pending: [
    ...[
      'waiting',
      'waitingforconfirmation',
      'confirmationpending',
      'pendingoptin',
      'optinpending',
      'notyetconfirmed',
    ],
    ...[
      'notconfirmed',
      'unverified',
      'notactivated',
      'invited',
      'requested',
      'ausstehend',
      'unbestätigt',
      'enattente',
    ],
    ...['pendiente', 'inattesa', 'pendente'],
  ],
  bounced: [
    ...['bounce', 'hardbounce', 'hardbounces', 'hardbounced', 'invalid', 'invalidemail', 'invalidaddress'],
    ...['undeliverable', 'nonexistent', 'unzustellbar', 'rebotado', 'rebond'],
  ],
  unsubscribed: [
    ...[
      'unsubscribe',
      'unsub',
      'unsubbed',
      'unsubscriber',
      'optedout',
      'optout',
      'suppressed',
      'suppression',
    ],
    ...[
      'manualsuppression',
      'blocked',
      'blacklisted',
      'blocklisted',
      'blacklist',
      'blocklist',
      'denied',
      'declined',
    ],
    ...['refused', 'rejected', 'withdrawn', 'revoked', 'removed', 'dnc', 'dne', 'donotemail', 'donotmail'],
    ...[
      'donotcontact',
      'donotallow',
      'donotsend',
      'notallowed',
      'notgranted',
      'notgiven',
      'globalunsubscribe',
    ],
    ...[
      'globallyunsubscribed',
      'unsubscribedfromall',
      'unsubscribedfromallemail',
      'expired',
      'stopped',
      'stop',
    ],
    ...[
      'abgemeldet',
      'abbestellt',
      'widerrufen',
      'gesperrt',
      'désinscrit',
      'désabonné',
      'desinscrit',
      'desabonné',
    ],
    ...[
      'baja',
      'dadodebaja',
      'desuscrito',
      'cancelado',
      'disiscritto',
      'cancellato',
      'descadastrado',
      'afgemeld',
    ],
    ...['uitgeschreven', 'inaktiv', 'inactif', 'inactivo', 'inattivo', 'inativo'],
  ],
  complained: [
    ...[
      'complaint',
      'complaints',
      'complainer',
      'spamcomplaint',
      'spamcomplaints',
      'spamreport',
      'spamreported',
    ],
    ...['reportedspam', 'reportedasspam', 'markedspam', 'abuse', 'abusereport', 'abusecomplaint', 'spam'],
  ],
};

/** What follows a text that begins like a yes, and makes another state of it: `Opted in: no`, `Subscribed; bounced`. */
const CONTRADICTED = /[\s:=;,|/(–-](?:no|n|false|0|off|not|never|stopped|expired|paused|blocked|removed)\b/i;

/** How texts of several words begin, or what they contain, if no table has them as a whole. */
export const PHRASES: readonly [RegExp, ConsentState][] = [
  [
    /unsubscri|opt(?:ed)?[\s_-]?out|do not|don['’]?t\b|no longer|withdr[ae]w|revoked|black-?listed|block-?listed/i,
    'unsubscribed',
  ],
  [/^(?:not|never)[\s_-](?:yet[\s_-])?(?:subscribed|opted)/i, 'never_subscribed'],
  [/^(?:hard[\s_-]?)?bounced\b/i, 'bounced'],
  [/^(?:yes|subscribed|opted[\s_-]?in)\b.*\b(?:complain|spam|abuse)/i, 'complained'],
  [/^(?:yes|subscribed|opted[\s_-]?in)\b.*\b(?:bounced?|invalid|undeliverable)\b/i, 'bounced'],
  [new RegExp(`^(?:yes|subscribed|opted[\\s_-]?in)\\b.*?${CONTRADICTED.source}`, 'i'), 'unsubscribed'],
  [
    /^(?:yes|subscribed|(?:(?:double|single)[\s_-]?)?opt(?:ed)?[\s_-]?in)\b.*\b(?:unconfirmed|unverified|pending|requested|awaiting|waiting)\b/i,
    'pending',
  ],
  [/^(?:subscribed|opted[\s_-]?in|double[\s_-]?opt[\s_-]?in|single[\s_-]?opt[\s_-]?in)\b/i, 'subscribed'],
  [/^no\b\s*[,:(–-]/i, 'unsubscribed'],
  [/^yes\b\s*[,:(–-]/i, 'subscribed'],
];
