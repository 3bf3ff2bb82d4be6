/**
 * Messages that Amazon SNS posts to HTTPS endpoints, and their signatures
 * (https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html).
 */
import { createVerify, X509Certificate } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Egress } from '../../../../platform/egress/client.ts';

/** Only SNS itself has host names of this form: customers cannot create hosts under `sns.<region>.amazonaws.com`. */
const SNS_HOST = /^sns\.[a-z]{2,4}(?:-[a-z]{2,12}){1,3}-\d{1,2}\.amazonaws\.com(?:\.cn)?$/;
const CERTIFICATE_PATH = /^\/SimpleNotificationService-[0-9a-f]{1,64}\.pem$/;
const MAX_CERTIFICATE_BYTES = 16 * 1024;
const CERTIFICATE_TTL_MS = 86_400_000;
const algorithms: Record<string, string> = { '1': 'RSA-SHA1', '2': 'RSA-SHA256' };

export const snsMessage = z.object({
  Type: z.enum(['Notification', 'SubscriptionConfirmation', 'UnsubscribeConfirmation']),
  MessageId: z.string(),
  TopicArn: z.string(),
  Message: z.string(),
  Timestamp: z.string(),
  Subject: z.string().nullish(),
  Token: z.string().optional(),
  SubscribeURL: z.string().optional(),
  SignatureVersion: z.string(),
  Signature: z.string().max(4_096),
  SigningCertURL: z.string().max(2_048),
});

export type SnsMessage = z.output<typeof snsMessage>;

/** The result of a check. `unavailable`: the certificate could not be fetched. */
export type SnsVerdict =
  { kind: 'genuine' } | { kind: 'refused'; reason: string } | { kind: 'unavailable'; reason: string };

/** Whether a URL points to SNS itself. */
function isSnsUrl(url: URL | null): url is URL {
  return url?.protocol === 'https:' && url.port === '' && url.username === '' && SNS_HOST.test(url.hostname);
}

/** @returns the URL that confirms the subscription; null if it does not point to SNS */
export function confirmationUrl({ SubscribeURL: text, TopicArn: topic }: SnsMessage): string | null {
  const url = URL.parse(text ?? '');
  if (!isSnsUrl(url) || url.searchParams.get('Action') !== 'ConfirmSubscription') return null;
  return url.searchParams.get('TopicArn') === topic ? url.href : null;
}

/** The signed text: names and values in turn, each followed by a line feed. */
function signedText(message: SnsMessage): string {
  const names: readonly (keyof SnsMessage)[] =
    message.Type === 'Notification'
      ? ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']
      : ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'];
  return names
    .map((name) => ((message[name] ?? null) === null ? '' : `${name}\n${message[name]}\n`))
    .join('');
}

async function fetchCertificate(url: string, egress: Egress): Promise<X509Certificate | string> {
  const result = await egress.request({ url, method: 'GET', maxResponseBytes: MAX_CERTIFICATE_BYTES });
  if (!result.ok) return result.message;
  if (result.statusCode !== 200) return `HTTP ${result.statusCode}`;
  try {
    return new X509Certificate(result.body);
  } catch {
    return 'no certificate';
  }
}

/** Checks signatures with the certificates of SNS, which it keeps for a day. */
export function createSnsVerifier() {
  const known = new LRUCache<string, X509Certificate>({ max: 50, ttl: CERTIFICATE_TTL_MS });
  const fetching = new Map<string, Promise<X509Certificate | string>>();

  async function certificateAt(url: string, egress: Egress): Promise<X509Certificate | string> {
    const kept = known.get(url);
    if (kept) return kept;
    const running = fetching.get(url) ?? fetchCertificate(url, egress).finally(() => fetching.delete(url));
    fetching.set(url, running);
    const certificate = await running;
    if (typeof certificate !== 'string') known.set(url, certificate);
    return certificate;
  }

  return async function verify(message: SnsMessage, egress: Egress, now: Date): Promise<SnsVerdict> {
    const algorithm = Object.hasOwn(algorithms, message.SignatureVersion)
      ? algorithms[message.SignatureVersion]
      : undefined;
    if (algorithm === undefined) return { kind: 'refused', reason: 'unknown signature version' };
    const url = URL.parse(message.SigningCertURL);
    if (!isSnsUrl(url) || !CERTIFICATE_PATH.test(url.pathname) || url.search !== '') {
      return { kind: 'refused', reason: 'the certificate is not at a host of Amazon SNS' };
    }
    const certificate = await certificateAt(url.href, egress);
    if (typeof certificate === 'string') {
      return { kind: 'unavailable', reason: `certificate of Amazon SNS: ${certificate}` };
    }
    if (now < certificate.validFromDate || now > certificate.validToDate) {
      return { kind: 'refused', reason: 'the certificate of Amazon SNS is not valid now' };
    }
    const genuine = createVerify(algorithm)
      .update(signedText(message), 'utf8')
      .verify(certificate.publicKey, message.Signature, 'base64');
    return genuine ? { kind: 'genuine' } : { kind: 'refused', reason: 'wrong signature' };
  };
}
