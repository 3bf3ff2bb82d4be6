/**
 * Sending domains at Mailgun, API v4
 * (https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/domains).
 */
import { z } from 'zod';
import { type ApiResponse, domainError } from '../../adapters/http-api.ts';
import type { ProviderDeps, ProviderDnsRecord, ProviderDomains } from '../../adapters/kind.ts';
import { type MailgunSettings, mailgunMessage, requestMailgun } from './api.ts';

const recordSchema = z.object({
  record_type: z.enum(['TXT', 'CNAME', 'MX']),
  name: z.string().min(1).max(255),
  value: z.string().min(1).max(4_096),
});

const domainSchema = z.object({ sending_dns_records: z.array(z.unknown()).max(50) });

async function call(
  settings: MailgunSettings,
  { egress }: ProviderDeps,
  request: Parameters<typeof requestMailgun>[2],
  allowed: readonly number[] = [200],
): Promise<ApiResponse> {
  const result = await requestMailgun(settings, egress, request);
  if (result.kind === 'response' && allowed.includes(result.status)) return result;
  const words = result.kind === 'response' ? `${result.status} ${mailgunMessage(result)}` : '';
  throw domainError(result, { title: 'Mailgun', method: request.method, words });
}

const pathOf = (domain: string, rest = '') => `/v4/domains/${encodeURIComponent(domain)}${rest}`;

function recordOf(given: unknown): ProviderDnsRecord | null {
  const parsed = recordSchema.safeParse(given);
  if (!parsed.success) return null;
  const { record_type: type, name, value } = parsed.data;
  const base = { type, name: name.toLowerCase().replace(/\.$/, ''), value, priority: null };
  if (base.name.includes('._domainkey.')) return { ...base, required: true, purpose: 'dkim' };
  if (/^v=spf1/i.test(value)) return { ...base, required: true, purpose: 'return_path' };
  // The host for Mailgun's own tracking, which stays off.
  return null;
}

export const mailgunDomains: ProviderDomains<MailgunSettings> = {
  /** Mailgun does not promise to deliver a message byte for byte, and signs with its own key for the domain. */
  carillonSigns: false,

  async registerDomain(domain, settings, deps, creating) {
    const known = await call(settings, deps, { method: 'GET', path: pathOf(domain) }, [200, 404]);
    if (known.status === 200) return false;
    await creating?.();
    await call(settings, deps, {
      method: 'POST',
      path: '/v4/domains',
      form: [
        ['name', domain],
        ['dkim_key_size', '2048'],
      ],
    });
    return true;
  },

  async dnsRecords(domain, settings, deps) {
    const { json } = await call(settings, deps, { method: 'GET', path: pathOf(domain) });
    const parsed = domainSchema.safeParse(json);
    if (!parsed.success) throw new Error('Mailgun: the response does not describe a domain');
    return parsed.data.sending_dns_records.flatMap((record) => recordOf(record) ?? []);
  },

  async removeDomain(domain, settings, deps) {
    const path = `/v3/domains/${encodeURIComponent(domain)}`;
    await call(settings, deps, { method: 'DELETE', path }, [200, 404]);
  },

  async verifyDomain(domain, settings, deps) {
    await call(settings, deps, { method: 'PUT', path: pathOf(domain, '/verify') });
  },
};
