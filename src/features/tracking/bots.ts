import { isbot } from 'isbot';
import { LRUCache } from 'lru-cache';

/** A request for a pixel or a link. */
export interface Fetch {
  method: string;
  /** Must be clipped by the caller, because verdicts are cached by it. */
  userAgent: string;
  /**
   * The headers `Sec-Purpose` and `Purpose`: browsers send them when they prefetch a page that the user may open next.
   */
  purpose: string;
  /** Whether the pixel was fetched, rather than a link. */
  pixel: boolean;
}

/**
 * Why a fetch is classified as it is. `all_links` is detected later: every link of the message was fetched within 10 s.
 */
export type FetchReason =
  | 'head'
  | 'prefetch'
  | 'no_user_agent'
  | 'scanner'
  | 'bot'
  | 'image_proxy'
  | 'mail_app'
  | 'privacy_proxy'
  | 'all_links';

export interface FetchVerdict {
  isBot: boolean;
  /** Null: it looks like a browser. */
  reason: FetchReason | null;
  /** Whether it may count as a person's first open or click. */
  mayBeHuman: boolean;
  /** Whether no later fetch can show that it came from a machine. */
  isCertain: boolean;
}

/** Proxies that fetch a pixel when a person opens the email. */
const IMAGE_PROXY = /googleimageproxy|yahoomailproxy/i;
/** Mail programs that `isbot` does not recognize as browsers. */
const MAIL_APP =
  /^(?:outlook-(?:ios|android)|superhuman|airmail|spark|yahoomobile|thunderbird|bluemail|microsoft office\/)/i;
/** Apple's Mail Privacy Protection fetches the images of every email, opened or not. */
const PRIVACY_PROXY = 'Mozilla/5.0';
/**
 * Security products that fetch the links of an email before a person sees it. `isbot` recognizes those that call
 * themselves bots.
 */
const SCANNER = new RegExp(
  [
    'barracuda|mimecast|proofpoint|symantec|messagelabs|forcepoint|websense|sophos|fireeye|trellix|trend ?micro',
    'bitdefender|cisco|ironport|cloudmark|zscaler|fortinet|fortiguard|kaspersky|mcafee|avanan|checkpoint|ironscales',
    'existence discovery|safelinks|msoffice.*protocol|bingpreview|skypeuripreview|google-safety|googlesafety',
    'headless|phantomjs|puppeteer|playwright|selenium|urlscan|virustotal|palo ?alto|netcraft|cyren|area1|vipre',
  ].join('|'),
  'i',
);

const machine = (reason: FetchReason): FetchVerdict => ({
  isBot: true,
  reason,
  mayBeHuman: false,
  isCertain: true,
});

const person = (reason: FetchReason | null, isCertain: boolean): FetchVerdict => ({
  isBot: false,
  reason,
  mayBeHuman: true,
  isCertain,
});

function judgeUserAgent(userAgent: string, pixel: boolean): FetchVerdict {
  if (userAgent === '') return machine('no_user_agent');
  if (userAgent === PRIVACY_PROXY) return { ...person('privacy_proxy', true), mayBeHuman: false };
  if (pixel && IMAGE_PROXY.test(userAgent)) return person('image_proxy', true);
  if (SCANNER.test(userAgent)) return machine('scanner');
  if (pixel && MAIL_APP.test(userAgent)) return person('mail_app', false);
  return isbot(userAgent) ? machine('bot') : person(null, false);
}

const MAX_CACHED = 500;
/**
 * Cached, because the patterns take longer than all other work for a hit, and most people use the same few browsers.
 */
const verdicts = new LRUCache<string, FetchVerdict>({ max: MAX_CACHED });

/** Classifies a fetch by itself. Whether all links were fetched together, as scanners do, is only known later. */
export function judgeFetch({ method, userAgent, purpose, pixel }: Fetch): FetchVerdict {
  if (method === 'HEAD') return machine('head');
  if (/prefetch|prerender|preview/i.test(purpose)) return machine('prefetch');
  const key = `${pixel ? 'o' : 'c'}${userAgent}`;
  const known = verdicts.get(key);
  if (known) return known;
  const verdict = judgeUserAgent(userAgent, pixel);
  verdicts.set(key, verdict);
  return verdict;
}
