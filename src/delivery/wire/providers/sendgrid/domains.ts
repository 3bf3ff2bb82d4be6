/**
 * Sending domains at SendGrid: domain authentication with automated security
 * (https://www.twilio.com/docs/sendgrid/api-reference/domain-authentication).
 */
import { z } from 'zod';
import { domainError } from '../../adapters/http-api.ts';
import type { ProviderDeps, ProviderDnsRecord, ProviderDomains } from '../../adapters/kind.ts';
import { requestSendgrid, SENDGRID, sendgridError, type SendgridSettings } from './api.ts';

const record = z.object({ host: z.string(), type: z.string(), data: z.string() });

const domains = z.array(
  z.object({
    id: z.number(),
    domain: z.string(),
    dns: z.record(z.string(), record).catch({}),
  }),
);

async function call(
  settings: SendgridSettings,
  { egress }: ProviderDeps,
  request: Parameters<typeof requestSendgrid>[2],
): Promise<unknown> {
  const result = await requestSendgrid(settings, egress, request);
  if (result.kind === 'response' && result.status < 300) return result.json;
  const words = result.kind === 'response' ? `${result.status} ${sendgridError(result).message}` : '';
  throw domainError(result, { title: SENDGRID, method: request.method, words });
}

/** @returns the authenticated domain; undefined if there is none */
async function find(domain: string, settings: SendgridSettings, deps: ProviderDeps) {
  const path = `/v3/whitelabel/domains?limit=50&domain=${encodeURIComponent(domain)}`;
  const parsed = domains.safeParse(await call(settings, deps, { method: 'GET', path }));
  if (!parsed.success) throw new Error(`${SENDGRID}: the response is not a list of domains`);
  return parsed.data.find((found) => found.domain === domain);
}

async function registered(domain: string, settings: SendgridSettings, deps: ProviderDeps) {
  const found = await find(domain, settings, deps);
  if (!found) throw new Error(`${SENDGRID}: ${domain} is not registered`);
  return found;
}

const types = { cname: 'CNAME', txt: 'TXT', mx: 'MX' } as const;

function dnsRecord([key, { host, type, data }]: [string, z.output<typeof record>]): ProviderDnsRecord[] {
  const known = types[type.toLowerCase() as keyof typeof types] as ProviderDnsRecord['type'] | undefined;
  if (known === undefined) return [];
  const purpose = key.startsWith('dkim') ? 'dkim' : key.startsWith('mail') ? 'return_path' : 'other';
  // SendGrid authenticates the domain only after it has found every record.
  return [
    { type: known, name: host, value: data, priority: known === 'MX' ? 10 : null, required: true, purpose },
  ];
}

export const sendgridDomains: ProviderDomains<SendgridSettings> = {
  /** SendGrid builds messages from their parts, so only SendGrid can sign them. */
  carillonSigns: false,

  async registerDomain(domain, settings, deps, creating) {
    if (await find(domain, settings, deps)) return false;
    await creating?.();
    await call(settings, deps, {
      method: 'POST',
      path: '/v3/whitelabel/domains',
      body: { domain, automatic_security: true, default: false },
    });
    return true;
  },

  async removeDomain(domain, settings, deps) {
    const found = await find(domain, settings, deps);
    if (found) await call(settings, deps, { method: 'DELETE', path: `/v3/whitelabel/domains/${found.id}` });
  },

  async dnsRecords(domain, settings, deps) {
    const { dns } = await registered(domain, settings, deps);
    return Object.entries(dns).flatMap(dnsRecord);
  },

  async verifyDomain(domain, settings, deps) {
    const { id } = await registered(domain, settings, deps);
    await call(settings, deps, { method: 'POST', path: `/v3/whitelabel/domains/${id}/validate` });
  },
};
