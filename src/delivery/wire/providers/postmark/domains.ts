/** Sending domains at Postmark (https://postmarkapp.com/developer/api/domains-api). */
import { z } from 'zod';
import { domainError } from '../../adapters/http-api.ts';
import type { ProviderDeps, ProviderDnsRecord, ProviderDomains } from '../../adapters/kind.ts';
import { POSTMARK, postmarkError, type PostmarkSettings, requestPostmark } from './api.ts';

const PAGE = 500;
const MAX_PAGES = 20;

const list = z.object({
  TotalCount: z.number(),
  Domains: z.array(z.object({ ID: z.number(), Name: z.string() })),
});

const text = z.string().catch('');

const details = z.object({
  DKIMHost: text,
  DKIMTextValue: text,
  DKIMPendingHost: text,
  DKIMPendingTextValue: text,
  ReturnPathDomain: text,
  ReturnPathDomainCNAMEValue: text,
});

async function call(
  settings: PostmarkSettings,
  { egress }: ProviderDeps,
  request: Parameters<typeof requestPostmark>[3],
): Promise<unknown> {
  const token = { 'x-postmark-account-token': settings.account_token ?? '' };
  const result = await requestPostmark(settings, egress, token, request);
  if (result.kind === 'response' && result.status < 300) return result.json;
  const words = result.kind === 'response' ? `${result.status} ${postmarkError(result).message}` : '';
  throw domainError(result, { title: POSTMARK, method: request.method, words });
}

/** @returns the domain's id; undefined if it is not registered */
async function find(domain: string, settings: PostmarkSettings, deps: ProviderDeps) {
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const path = `/domains?count=${PAGE}&offset=${page * PAGE}`;
    const parsed = list.safeParse(await call(settings, deps, { method: 'GET', path }));
    if (!parsed.success) throw new Error(`${POSTMARK}: the response is not a list of domains`);
    const found = parsed.data.Domains.find(({ Name }) => Name.toLowerCase() === domain);
    if (found) return found.ID;
    if ((page + 1) * PAGE >= parsed.data.TotalCount) return undefined;
  }
  return undefined;
}

async function registered(domain: string, settings: PostmarkSettings, deps: ProviderDeps): Promise<number> {
  const id = await find(domain, settings, deps);
  if (id === undefined) throw new Error(`${POSTMARK}: ${domain} is not registered`);
  return id;
}

/** A pending key signs as soon as its DNS record is found; until then the current one does. */
function recordsOf(found: z.output<typeof details>): ProviderDnsRecord[] {
  const keys = [
    [found.DKIMPendingHost, found.DKIMPendingTextValue],
    [found.DKIMHost, found.DKIMTextValue],
  ].filter(([name, value]) => name && value) as [string, string][];
  const signing = keys.slice(0, 1).map(([name, value]): ProviderDnsRecord => {
    return { type: 'TXT', name, value, priority: null, required: true, purpose: 'dkim' };
  });
  const { ReturnPathDomain: name, ReturnPathDomainCNAMEValue: value } = found;
  if (!name || !value) return signing;
  return [
    ...signing,
    { type: 'CNAME', name, value, priority: null, required: false, purpose: 'return_path' },
  ];
}

export const postmarkDomains: ProviderDomains<PostmarkSettings> = {
  /** Postmark builds messages from their parts, so only Postmark can sign them. */
  carillonSigns: false,

  managesDomains: (settings) => settings.account_token !== undefined,

  async registerDomain(domain, settings, deps, creating) {
    if (settings.account_token === undefined || (await find(domain, settings, deps)) !== undefined)
      return false;
    await creating?.();
    const body = { Name: domain, ReturnPathDomain: `${settings.return_path}.${domain}` };
    await call(settings, deps, { method: 'POST', path: '/domains', body });
    return true;
  },

  async removeDomain(domain, settings, deps) {
    if (settings.account_token === undefined) return;
    const id = await find(domain, settings, deps);
    if (id !== undefined) await call(settings, deps, { method: 'DELETE', path: `/domains/${id}` });
  },

  async dnsRecords(domain, settings, deps) {
    if (settings.account_token === undefined) return [];
    const path = `/domains/${await registered(domain, settings, deps)}`;
    const parsed = details.safeParse(await call(settings, deps, { method: 'GET', path }));
    if (!parsed.success) throw new Error(`${POSTMARK}: the response does not describe a domain`);
    return recordsOf(parsed.data);
  },

  async verifyDomain(domain, settings, deps) {
    if (settings.account_token === undefined) return;
    const id = await registered(domain, settings, deps);
    for (const record of ['verifyDkim', 'verifyReturnPath']) {
      await call(settings, deps, { method: 'PUT', path: `/domains/${id}/${record}` });
    }
  },
};
