import { disposableEmailBlocklist } from 'disposable-email-domains-js';
import { distance } from 'fastest-levenshtein';
import roleLocalParts from 'role-based-email-addresses';

/** Domains of large mailbox providers that people often mistype. */
const providers = [
  'gmail.com',
  'googlemail.com',
  'yahoo.com',
  'yahoo.co.uk',
  'yahoo.co.in',
  'yahoo.co.jp',
  'yahoo.com.br',
  'yahoo.de',
  'yahoo.es',
  'yahoo.fr',
  'yahoo.it',
  'ymail.com',
  'rocketmail.com',
  'hotmail.com',
  'hotmail.co.uk',
  'hotmail.de',
  'hotmail.es',
  'hotmail.fr',
  'hotmail.it',
  'outlook.com',
  'outlook.de',
  'outlook.es',
  'outlook.fr',
  'live.com',
  'live.co.uk',
  'live.de',
  'live.fr',
  'live.nl',
  'msn.com',
  'icloud.com',
  'me.com',
  'mac.com',
  'aol.com',
  'mail.com',
  'email.com',
  'gmx.at',
  'gmx.ch',
  'gmx.com',
  'gmx.de',
  'gmx.net',
  'web.de',
  't-online.de',
  'freenet.de',
  'proton.me',
  'protonmail.com',
  'zoho.com',
  'fastmail.com',
  'mail.ru',
  'yandex.ru',
  'yandex.com',
  'comcast.net',
  'verizon.net',
  'att.net',
  'sbcglobal.net',
  'bellsouth.net',
  'cox.net',
  'charter.net',
  'btinternet.com',
  'orange.fr',
  'wanadoo.fr',
  'free.fr',
  'laposte.net',
  'sfr.fr',
  'libero.it',
  'virgilio.it',
  'ziggo.nl',
  'bigpond.com',
  'terra.com.br',
  'uol.com.br',
  'naver.com',
  'qq.com',
  '163.com',
  '126.com',
  'rediffmail.com',
];

const providerNames = new Set(providers);

/** Names of people that are also in the package's list of roles. */
const personalNames = new Set(['alexa', 'gardner', 'india', 'paris', 'per', 'sydney']);
const roles = new Set(roleLocalParts.filter((local) => !personalNames.has(local)));

/** Loaded on first use: 170 KB. */
let disposable: Set<string> | null = null;

/** Whether the domain, or one above it, offers throw-away mailboxes. */
export function isDisposable(domain: string): boolean {
  disposable ??= new Set(disposableEmailBlocklist());
  for (let name = domain; name.includes('.'); name = name.slice(name.indexOf('.') + 1)) {
    if (disposable.has(name)) return true;
  }
  return false;
}

/**
 * Whether a local part, without its suffix after a plus sign, belongs to a role and not to a person: `info`, `support`.
 */
export function isRole(local: string): boolean {
  const [base = ''] = local.toLowerCase().split('+', 1);
  return roles.has(base);
}

/** Minimum length of a provider's name to compare with: many real domains resemble a shorter one by chance. */
const MIN_LABEL_LENGTH = 5;

function sameLetters(one: string, other: string): boolean {
  return one.length === other.length && [...one].sort().join('') === [...other].sort().join('');
}

/** Number of changes by which a typo differs from the name. Two swapped letters count as one. */
function changes(domain: string, provider: string): number {
  if (Math.abs(domain.length - provider.length) > 2) return Infinity;
  const far = distance(domain, provider);
  return far === 2 && sameLetters(domain, provider) ? 1 : far;
}

/**
 * The domain of a large provider that was probably meant.
 * @param failed whether the domain accepts no mail: then the name may differ by more
 * @returns null if there is none, or if the domain itself is one
 */
export function meantDomain(domain: string, failed: boolean): string | null {
  if (providerNames.has(domain)) return null;
  const maxChanges = failed ? 2 : 1;
  let best: string | null = null;
  let least = maxChanges + 1;
  for (const provider of providers) {
    const label = provider.indexOf('.');
    if (label < (failed ? MIN_LABEL_LENGTH - 1 : MIN_LABEL_LENGTH)) continue;
    const far = changes(domain, provider);
    if (far < least) [best, least] = [provider, far];
  }
  return best;
}
