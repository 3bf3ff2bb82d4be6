// Headings and words of other tools' exports are read as they are meant, and headings about something else are not.
import { describe, expect, it } from '@jest/globals';
import { consentHeading } from '../../../../src/features/imports/consent/headings.ts';
import {
  type ConsentUse,
  fitTool,
  readConsentCell,
} from '../../../../src/features/imports/consent/read-word.ts';
import { readConsentTime } from '../../../../src/features/imports/consent/times.ts';
import type { ConsentState } from '../../../../src/features/imports/consent/words.ts';

const read = (heading: string, cell: string) => {
  const found = consentHeading(heading);
  if (!found) return 'no consent';
  const said = readConsentCell(found, cell);
  return said ? [found.channel, said.state] : 'unknown';
};

describe('a column of', () => {
  it.each<[tool: string, heading: string, cell: string, means: [string, ConsentState | null]]>([
    ['Shopify', 'Accepts Email Marketing', 'no', ['email', 'unsubscribed']],
    ['Shopify', 'Accepts SMS Marketing', 'yes', ['phone', 'subscribed']],
    ['Shopify before 2022', 'Accepts Marketing', 'false', ['all', 'unsubscribed']],
    ['Shopify (API)', 'email_marketing_consent.state', 'not_subscribed', ['email', 'never_subscribed']],
    ['Brevo', 'EMAIL_BLACKLISTED', 'Yes', ['email', 'unsubscribed']],
    ['Brevo', 'SMS_BLACKLISTED', 'No', ['phone', null]],
    ['Brevo', 'DOUBLE_OPT-IN', 'No', ['all', 'pending']],
    ['Brevo', 'OPT_IN', '0', ['all', 'unsubscribed']],
    ['HubSpot', 'Unsubscribed from all email', 'true', ['email', 'unsubscribed']],
    ['HubSpot', 'Opted out of email: Marketing Information', 'Yes', ['email', 'unsubscribed']],
    ['HubSpot', 'Opted out of email: One to One', 'No', ['email', null]],
    ['HubSpot', 'hs_email_optout_12345', 'true', ['email', 'unsubscribed']],
    ['HubSpot', 'Marketing contact status', 'Non-marketing contact', ['all', 'never_subscribed']],
    ['HubSpot', 'Email hard bounce reason', 'UNKNOWN_USER', ['email', 'bounced']],
    ['HubSpot', 'Invalid email address', 'Yes', ['email', 'bounced']],
    ['Klaviyo', 'Email Marketing Consent', 'NEVER_SUBSCRIBED', ['email', 'never_subscribed']],
    ['Klaviyo', 'Email Marketing Consent', 'UNSUBSCRIBED', ['email', 'unsubscribed']],
    ['Klaviyo', 'Email Suppressions', "['HARD_BOUNCE']", ['email', 'bounced']],
    ['Klaviyo', 'Email Suppressions', '[]', ['email', null]],
    ['Klaviyo', 'SMS Marketing Consent', 'SUBSCRIBED', ['phone', 'subscribed']],
    ['Klaviyo', 'Email Marketing Consent Timestamp', '2024-01-01T10:00:00+00:00', ['email', null]],
    ['Mailchimp', 'UNSUB_TIME', '2024-03-02 09:15:44', ['all', 'unsubscribed']],
    ['Mailchimp', 'UNSUB_REASON', 'NORMAL', ['all', 'unsubscribed']],
    ['Mailchimp', 'CLEAN_TIME', '2024-03-02 09:15:44', ['email', 'bounced']],
    ['Mailchimp', 'CONFIRM_TIME', '2024-03-02 09:15:44', ['all', null]],
    ['Postmark', 'SuppressionReason', 'SpamComplaint', ['all', 'complained']],
    ['Wix', 'Email subscriber status', 'Never subscribed', ['email', 'never_subscribed']],
    ['Wix', 'SMS subscriber status', 'Not subscribed', ['phone', 'never_subscribed']],
    ['Ghost', 'subscribed_to_emails', 'FALSE', ['email', 'unsubscribed']],
    ['Substack', 'email_disabled', 'true', ['email', 'unsubscribed']],
    ['MailerLite', 'Subscribed', '2024-01-01 10:00:00', ['all', 'subscribed']],
    ['MailerLite', 'Unsubscribed', '2024-01-01 10:00:00', ['all', 'unsubscribed']],
    ['Salesforce', 'Email Opt Out', '1', ['email', 'unsubscribed']],
    ['Salesforce', 'HasOptedOutOfEmail', 'FALSE', ['email', null]],
    ['Salesforce', 'Do Not Call', '1', ['phone', 'unsubscribed']],
    ['Dynamics', 'Do not allow Bulk Emails', 'Do Not Allow', ['email', 'unsubscribed']],
    ['Dynamics', 'Do not allow Bulk Emails', 'Allow', ['email', null]],
    ['Pardot', 'Opted Out', 'true', ['all', 'unsubscribed']],
    ['Intercom', 'Unsubscribed from Emails', 'true', ['email', 'unsubscribed']],
    ['Intercom', 'Has hard bounced', 'true', ['email', 'bounced']],
    ['Intercom', 'Marked email as spam', 'true', ['email', 'complained']],
    ['Customer.io', 'unsubscribed', 'true', ['all', 'unsubscribed']],
    ['Constant Contact', 'Email status', 'Awaiting confirmation', ['email', 'pending']],
    ['Constant Contact', 'Confirmed Opt-Out Date', '2020-01-31', ['all', 'unsubscribed']],
    ['Omnisend', 'Email status', 'nonSubscribed', ['email', 'never_subscribed']],
    ['Pipedrive', 'Marketing status', 'No consent', ['all', 'never_subscribed']],
    ['phpList', 'blacklisted', '1', ['all', 'unsubscribed']],
    ['phpList', 'Confirmed', '0', ['all', 'pending']],
    ['Squarespace', 'Accepts Marketing', 'true', ['all', 'subscribed']],
    ['Square', 'Email Subscription Status', 'Unsubscribed', ['email', 'unsubscribed']],
    ['BigCommerce', 'Receive Marketing Emails?', 'No', ['email', 'unsubscribed']],
    ['Mailjet', 'IsExcludedFromCampaigns', 'true', ['all', 'unsubscribed']],
    ['Segment', 'email_subscription_status', 'did-not-subscribe', ['email', 'never_subscribed']],
    ['Teachable', 'Unsubscribe from Marketing Emails', 'Yes', ['email', 'unsubscribed']],
    ['Klaviyo, to import', 'Email Marketing Consent', 'Subscribe', ['email', 'subscribed']],
    ['Toastmasters', 'OptOut Email', 'Opted-out', ['email', 'unsubscribed']],
    ['MailUp', 'OptOut_Date', '20110122T111244', ['all', 'unsubscribed']],
    ['MailUp', 'optout_nl', '161', ['all', 'unsubscribed']],
    ['rasa.io', 'Unsubscribe Reason', 'CSV', ['all', 'unsubscribed']],
    ['Dotdigital', 'Email status', 'IspComplained', ['email', 'complained']],
    ['a sheet', 'Werbesperre', 'ja', ['all', 'unsubscribed']],
    ['a sheet', 'Zgoda marketingowa', 'nie', ['all', 'unsubscribed']],
    ['a sheet', 'Отписан', 'да', ['all', 'unsubscribed']],
    ['a sheet', '配信停止', 'はい', ['all', 'unsubscribed']],
    ['a sheet', 'OK to email', 'N', ['email', 'unsubscribed']],
    ['a sheet', 'Wants newsletter?', 'No', ['email', 'unsubscribed']],
    ['a sheet', 'No marketing', 'TRUE', ['all', 'unsubscribed']],
    ['a sheet', 'Exclude from mailings', '1', ['email', 'unsubscribed']],
    ['a sheet', 'Email permission', 'Opted out (2024)', ['email', 'unsubscribed']],
    ['a sheet', 'Consent', 'No - asked us to stop', ['all', 'unsubscribed']],
    ['a sheet', 'Newsletter consent', 'Subscribed to the weekly', ['email', 'subscribed']],
    ['a sheet', 'Unsubscribed lists', 'Offers', ['all', 'unsubscribed']],
    ['a sheet', 'Email opt-in (Yes/No)', 'No', ['email', 'unsubscribed']],
    ['a sheet', 'Newsletter (Y/N)', 'N', ['email', 'unsubscribed']],
    ['a sheet', 'Not blacklisted', 'no', ['all', 'unsubscribed']],
    ['a database', 'subscribed', '\\N', ['all', null]],
    ['HighLevel', 'DND', 'true', ['all', 'unsubscribed']],
    ['an address book', 'Abgemeldet am', '31.01.2024', ['all', 'unsubscribed']],
    ['an address book', 'Werbeeinwilligung', 'nein', ['all', 'unsubscribed']],
    ['an address book', 'Désinscrit', 'oui', ['all', 'unsubscribed']],
    ['an address book', 'Do not email', 'x', ['email', 'unsubscribed']],
    ['an address book', 'Newsletter', 'Ja', ['email', 'subscribed']],
  ])('%s: %s, %s', (_tool, heading, cell, means) => {
    expect(read(heading, cell)).toEqual(means);
  });

  it.each([
    ...[
      'Email',
      'First name',
      'Subscription plan',
      'subscription_id',
      'Unsubscribe link',
      'Consent text',
      'Opt-in source',
    ],
    ...[
      'OPTIN_IP',
      'Email Marketing Consent Method',
      'active_subscription',
      'Number of subscriptions',
      'Optician',
    ],
    ...[
      'Subscription Price',
      'Marketing Permissions',
      'OptInType',
      'tracking_consent',
      'Permissions',
      'Consent channel',
      'Subscriber rating',
      'Order number',
      'No. of orders',
      'No. email opens',
      'Lead Status',
      'Customer status',
      'Subscribed lists',
      'push_subscribed',
      'Country',
      'Notes',
      'Description',
      'Tags',
    ],
  ])('something else: %s', (heading) => {
    expect(consentHeading(heading)).toBeNull();
  });

  it.each([
    ['Subscribed', 'perhaps'],
    ['Unsubscribed', 'inactive'],
    ['Marketing consent', 'web form'],
    ['Email status', 'constructor'],
  ])('unknown words: %s, %s', (heading, cell) => {
    expect(read(heading, cell)).toBe('unknown');
  });
});

it.each<[heading: string, cell: string, means: ReturnType<typeof read>]>([
  // What a heading says besides does not make a no disappear.
  ['Text Message Opt Out', 'yes', ['phone', 'unsubscribed']],
  ['Opt out - text messages', '1', ['phone', 'unsubscribed']],
  ['Email Address Opt Out', 'true', ['email', 'unsubscribed']],
  ['Unsubscribed from product updates', 'yes', ['all', 'unsubscribed']],
  ['Email Preferences Opt Out', 'Yes', ['email', 'unsubscribed']],
  ['Opted out since', '2024-01-31', ['all', 'unsubscribed']],
  // `on` and `at` are not always those of a time.
  ['Consent on file', 'no', ['all', 'unsubscribed']],
  ['Consent on file', 'yes', ['all', null]],
  ['Opted in at checkout', 'false', ['all', 'unsubscribed']],
  ['Opt-in date', '0', ['all', null]],
  ['Opt-in date', 'unsubscribed', ['all', 'unsubscribed']],
  // A yes to a no.
  ['Not subscribed', 'yes', ['all', 'unsubscribed']],
  ['Consent refused', 'yes', ['all', 'unsubscribed']],
  ['No consent', 'yes', ['all', 'unsubscribed']],
  ['Cannot be emailed', 'yes', ['email', 'unsubscribed']],
  ['Email not allowed', 'yes', ['email', 'unsubscribed']],
  ['Newsletter with exclusive offers', 'no', ['email', 'unsubscribed']],
  ['No newsletter', 'x', ['email', 'unsubscribed']],
  ['Keine Werbung', 'ja', ['all', 'unsubscribed']],
  ['Ne pas contacter', 'oui', ['all', 'unsubscribed']],
  ['DNE', 'Y', ['email', 'unsubscribed']],
  ['Can we email you?', 'No', ['email', 'unsubscribed']],
  ['Permission to contact', 'No', ['all', 'unsubscribed']],
  ['Receive updates', 'No', ['all', 'unsubscribed']],
  ['Keep me informed', 'No', ['all', 'unsubscribed']],
  ['Werbung erlaubt', 'nein', ['all', 'unsubscribed']],
  ['Nieuwsbrief', 'nee', ['email', 'unsubscribed']],
  // Texts that begin like a yes.
  ['Subscribed', 'Opted in: no', ['all', 'unsubscribed']],
  ['Subscribed', 'Subscribed: false', ['all', 'unsubscribed']],
  ['Subscribed', 'Subscribed; bounced', ['all', 'bounced']],
  ['Subscribed', 'Subscribed (unconfirmed)', ['all', 'pending']],
  ['Subscribed', 'Yes (bounced)', ['all', 'bounced']],
  ['Subscribed', 'Subscribed 2024', ['all', 'subscribed']],
  ['Unsubscribe link', 'https://a.test/', 'no consent'],
  ['Opt Out Country', 'DE', 'no consent'],
])('hears the no under %s: %s', (heading, cell, means) => {
  expect(read(heading, cell)).toEqual(means);
});

describe('the words of an ambiguous column', () => {
  it.each<[tool: string, words: Record<string, ConsentState | null> | null]>([
    ['listmonk', { enabled: null, blocklisted: 'unsubscribed' }],
    ['Mailchimp', { subscribed: null, cleaned: 'bounced', transactional: 'never_subscribed' }],
    ['Kit', { active: null, cancelled: 'unsubscribed', complained: 'complained', bounced: 'bounced' }],
    ['MailerLite', { active: null, unconfirmed: 'pending', junk: 'complained' }],
    ['beehiiv, and Kit, where such a subscriber is pending', { active: null, inactive: 'unsubscribed' }],
    ['Buttondown', { regular: null, unactivated: 'pending', undeliverable: 'bounced' }],
    ['The Newsletter Plugin', { c: null, u: 'unsubscribed', b: 'bounced' }],
    ['Sendy', { subscribed: null, softbounced: null, markedasspam: 'complained' }],
    ['Keila', { active: null, unreachable: 'bounced', unsubscribed: 'unsubscribed' }],
    ['Magento', { subscribed: null, notactivated: 'pending' }],
    ['no tool', null],
  ])('are those of %s', (_tool, words) => {
    expect(fitTool('Status', words ? Object.keys(words) : ['active', 'vip'])).toEqual(words);
  });

  it('are not letters under a heading such as type', () => {
    expect(fitTool('Type', ['b', 'c'])).toBeNull();
  });
});

it('reads the usual forms of times', () => {
  const forms = [
    '2024-03-02 09:15:44',
    '2024-03-02T09:15:44Z',
    '2024-03-02 10:15:44+01',
    '2024-03-02T10:15:44.000+0100',
  ];
  for (const text of [
    ...forms,
    '1709370944',
    '1709370944000',
    '02.03.2024 09:15:44',
    'Mar 2, 2024 09:15:44',
  ]) {
    expect([text, readConsentTime(text, 'UTC')]).toEqual([text, new Date('2024-03-02T09:15:44Z')]);
  }
  // 3 April or 4 March.
  const unclear = ['3/4/2024', '2024-02-31', 'May be'].map((text) => readConsentTime(text, 'UTC'));
  expect(unclear).toEqual([null, null, undefined]);
  // Tools write the time of their account; it is read in the zone of the brand.
  expect(
    ['2024-03-02 10:15:44', '02.03.2024 10:15:44', '2024-03-02T09:15:44Z'].map((text) =>
      readConsentTime(text, 'Europe/Berlin'),
    ),
  ).toEqual(Array.from({ length: 3 }, () => new Date('2024-03-02T09:15:44Z')));
});

it('knows the words of a mapping before all others', () => {
  const use: ConsentUse = { channel: 'all', kind: 'positive', words: { yes: 'unsubscribed', maybe: null } };
  expect(['Yes', 'maybe', 'no'].map((cell) => readConsentCell(use, cell)?.state)).toEqual([
    'unsubscribed',
    null,
    'unsubscribed',
  ]);
});
