/** Names the kinds of links that mail programs open. */

/**
 * The schemes of links that are no web addresses: they write, call, or show a calendar or a place. Most are safelisted
 * by HTML (8.9.1.6, custom scheme handlers); the others are those of phones and messengers that letters use.
 */
const OTHER_SCHEMES = [
  'callto',
  'facetime',
  'facetime-audio',
  'fax',
  'geo',
  'im',
  'mailto',
  'maps',
  'matrix',
  'mms',
  'sip',
  'sips',
  'skype',
  'sms',
  'smsto',
  'tel',
  'viber',
  'webcal',
  'webcals',
  'whatsapp',
  'xmpp',
] as const;
/** All schemes of links, without the colon. */
export const LINK_SCHEMES: readonly string[] = ['http', 'https', ...OTHER_SCHEMES];
/** The beginning of a link that is no web address. */
export const OTHER_LINK = new RegExp(`^(?:${OTHER_SCHEMES.join('|')}):`, 'i');
/** What is wrong with another scheme. */
export const WRONG_SCHEME = 'must be a web link, or one such as mailto, tel, sms or webcal';
