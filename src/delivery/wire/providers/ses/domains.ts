/**
 * Sending domains at Amazon SES: an identity with Easy DKIM and a MAIL FROM domain
 * (https://docs.aws.amazon.com/ses/latest/dg/creating-identities.html).
 */
import { z } from 'zod';
import { type ApiResponse, domainError } from '../../adapters/http-api.ts';
import type { ProviderDeps, ProviderDnsRecord, ProviderDomains } from '../../adapters/kind.ts';
import { requestSes, sesErrorCode, sesErrorMessage, type SesSettings } from './api.ts';

const identity = z.object({
  DkimAttributes: z
    .object({ Tokens: z.array(z.string()).max(10).default([]), SigningHostedZone: z.string().optional() })
    .optional(),
  MailFromAttributes: z.object({ MailFromDomain: z.string().optional() }).optional(),
});

/** Temporary errors, although their status is 400 or 403. */
const temporaryErrors = [
  'TooManyRequests',
  'Throttling',
  'ConcurrentModification',
  'RequestTimeTooSkewed',
  'RequestExpired',
];

async function call(
  settings: SesSettings,
  { egress }: ProviderDeps,
  request: Parameters<typeof requestSes>[2],
  ignored: readonly string[] = [],
): Promise<ApiResponse> {
  const result = await requestSes(settings, egress, request);
  const shared = { title: 'Amazon SES', method: request.method };
  if (result.kind !== 'response') throw domainError(result, { ...shared, words: '' });
  const code = sesErrorCode(result);
  if (result.status < 300 || ignored.includes(code)) return result;
  const words = [code, sesErrorMessage(result)].filter(Boolean).join(': ');
  throw domainError(
    result,
    temporaryErrors.includes(code) ? { ...shared, words, temporary: true } : { ...shared, words },
  );
}

const pathOf = (domain: string, rest = '') => `/v2/email/identities/${encodeURIComponent(domain)}${rest}`;

function recordsOf(
  domain: string,
  { DkimAttributes: dkim, MailFromAttributes: mailFrom }: z.output<typeof identity>,
  region: string,
): ProviderDnsRecord[] {
  const signing = (dkim?.Tokens ?? []).map((token): ProviderDnsRecord => ({
    type: 'CNAME',
    name: `${token}._domainkey.${domain}`,
    value: `${token}.${dkim?.SigningHostedZone ?? 'dkim.amazonses.com'}`,
    priority: null,
    required: true,
    purpose: 'dkim',
  }));
  const name = mailFrom?.MailFromDomain;
  if (!name) return signing;
  const bounces = { name, required: false, purpose: 'return_path' } as const;
  return [
    ...signing,
    { ...bounces, type: 'MX', value: `feedback-smtp.${region}.amazonses.com`, priority: 10 },
    { ...bounces, type: 'TXT', value: 'v=spf1 include:amazonses.com ~all', priority: null },
  ];
}

async function configure(domain: string, settings: SesSettings, deps: ProviderDeps): Promise<void> {
  await call(settings, deps, {
    method: 'PUT',
    path: pathOf(domain, '/mail-from'),
    body: { MailFromDomain: `${settings.mail_from}.${domain}`, BehaviorOnMxFailure: 'USE_DEFAULT_VALUE' },
  });
  // Bounces and complaints arrive through the topic. If SES forwarded them by mail, they would go to the From address.
  await call(settings, deps, {
    method: 'PUT',
    path: pathOf(domain, '/feedback'),
    body: { EmailForwardingEnabled: false },
  });
}

export const sesDomains: ProviderDomains<SesSettings> = {
  /** SES replaces Message-ID and Date, which Carillon's signatures cover, so only SES can sign. */
  carillonSigns: false,

  async registerDomain(domain, settings, deps, creating) {
    const found = await call(settings, deps, { method: 'GET', path: pathOf(domain) }, ['NotFound']);
    // An existing identity may belong to someone else. It is not changed until the client has proved ownership of the
    // domain.
    if (found.status < 300) return false;
    await creating?.();
    const body = { EmailIdentity: domain, DkimSigningAttributes: { NextSigningKeyLength: 'RSA_2048_BIT' } };
    const create = { method: 'POST', path: '/v2/email/identities', body } as const;
    const { status } = await call(settings, deps, create, ['AlreadyExists']);
    if (status >= 300) return false;
    // The identity exists now, so return true even if this fails. `verifyDomain` repeats it.
    await configure(domain, settings, deps).catch(() => undefined);
    return true;
  },

  async removeDomain(domain, settings, deps) {
    await call(settings, deps, { method: 'DELETE', path: pathOf(domain) }, ['NotFound']);
  },

  verifyDomain: configure,

  async dnsRecords(domain, settings, deps) {
    const { json } = await call(settings, deps, { method: 'GET', path: pathOf(domain) });
    const parsed = identity.safeParse(json);
    if (!parsed.success) throw new Error('Amazon SES: the response does not describe an identity');
    return recordsOf(domain, parsed.data, settings.region);
  },
};
