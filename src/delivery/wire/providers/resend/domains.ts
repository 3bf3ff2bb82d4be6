/** Sending domains at Resend (https://resend.com/docs/api-reference/domains/create-domain). */
import { z } from 'zod';
import { type ApiResponse, domainError } from '../../adapters/http-api.ts';
import type { ProviderDeps, ProviderDnsRecord, ProviderDomains } from '../../adapters/kind.ts';
import { requestResend, resendErrorName, resendMessage, type ResendSettings } from './api.ts';

const PAGE = 100;
const MAX_PAGES = 50;

const listSchema = z.object({
  data: z.array(z.object({ id: z.string().regex(/^[\w-]{1,100}$/), name: z.string() })),
  has_more: z.boolean().catch(false),
});

const recordSchema = z.object({
  record: z.string(),
  name: z.string().max(255),
  type: z.enum(['TXT', 'CNAME', 'MX']),
  value: z.string().min(1).max(4_096),
  priority: z.coerce.number().int().min(0).max(65_535).optional(),
});

const domainSchema = z.object({ records: z.array(z.unknown()).max(50) });

async function call(
  settings: ResendSettings,
  { egress }: ProviderDeps,
  request: Parameters<typeof requestResend>[2],
): Promise<ApiResponse> {
  const result = await requestResend(settings, egress, request);
  if (result.kind === 'response' && result.status < 300) return result;
  const shared = { title: 'Resend', method: request.method };
  if (result.kind !== 'response') throw domainError(result, { ...shared, words: '' });
  // Resend also returns 403 if another team has the domain.
  const credentials = result.status === 401 || resendErrorName(result) === 'invalid_api_key';
  throw domainError(result, { ...shared, words: `${result.status} ${resendMessage(result)}`, credentials });
}

/** @returns the id of the team's domain of this name; null if there is none */
async function findId(domain: string, settings: ResendSettings, deps: ProviderDeps): Promise<string | null> {
  let after = '';
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { json } = await call(settings, deps, { method: 'GET', path: `/domains?limit=${PAGE}${after}` });
    const parsed = listSchema.safeParse(json);
    if (!parsed.success) throw new Error('Resend: the response is not a list of domains');
    const { data, has_more: hasMore } = parsed.data;
    const found = data.find(({ name }) => name.toLowerCase() === domain);
    if (found) return found.id;
    const last = data.at(-1);
    if (!hasMore || !last) return null;
    after = `&after=${last.id}`;
  }
  return null;
}

async function requireId(domain: string, settings: ResendSettings, deps: ProviderDeps): Promise<string> {
  const id = await findId(domain, settings, deps);
  if (id === null) throw new Error(`Resend does not know the domain ${domain}`);
  return id;
}

/**
 * Completes the name of a record, from which Resend omits the registrable domain: for the domain news.acme.com,
 * `send.news` means `send.news.acme.com`.
 */
function completeName(given: string, domain: string): string {
  const name = given.toLowerCase().replace(/\.$/, '');
  if (name === domain || name.endsWith(`.${domain}`)) return name;
  const labels = domain.split('.');
  for (let shared = labels.length - 1; shared > 0; shared -= 1) {
    if (name.endsWith(`.${labels.slice(0, shared).join('.')}`))
      return [name, ...labels.slice(shared)].join('.');
  }
  return `${name}.${domain}`;
}

function recordOf(given: unknown, domain: string): ProviderDnsRecord | null {
  const parsed = recordSchema.safeParse(given);
  if (!parsed.success || !['SPF', 'DKIM'].includes(parsed.data.record)) return null;
  const { record, name, type, value, priority } = parsed.data;
  return {
    type,
    name: completeName(name, domain),
    value,
    priority: type === 'MX' ? (priority ?? 10) : null,
    required: true,
    purpose: record === 'DKIM' ? 'dkim' : 'return_path',
  };
}

const TRACKING_OFF = { open_tracking: false, click_tracking: false };

export const resendDomains: ProviderDomains<ResendSettings> = {
  /** Resend takes the parts of a message, not a complete one. */
  carillonSigns: false,

  /** Resend's tracking is a setting of the domain, so it is switched off here. */
  async registerDomain(domain, settings, deps, creating) {
    const id = await findId(domain, settings, deps);
    const body = { name: domain, region: settings.region, ...TRACKING_OFF };
    if (id === null) {
      await creating?.();
      await call(settings, deps, { method: 'POST', path: '/domains', body });
    } else await call(settings, deps, { method: 'PATCH', path: `/domains/${id}`, body: TRACKING_OFF });
    return id === null;
  },

  async removeDomain(domain, settings, deps) {
    const id = await findId(domain, settings, deps);
    if (id !== null) await call(settings, deps, { method: 'DELETE', path: `/domains/${id}` });
  },

  async dnsRecords(domain, settings, deps) {
    const id = await requireId(domain, settings, deps);
    const { json } = await call(settings, deps, { method: 'GET', path: `/domains/${id}` });
    const parsed = domainSchema.safeParse(json);
    if (!parsed.success) throw new Error('Resend: the response does not describe a domain');
    return parsed.data.records.flatMap((record) => recordOf(record, domain) ?? []);
  },

  async verifyDomain(domain, settings, deps) {
    const id = await requireId(domain, settings, deps);
    await call(settings, deps, { method: 'POST', path: `/domains/${id}/verify` });
  },
};
