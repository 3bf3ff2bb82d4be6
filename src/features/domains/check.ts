import { ResolveError, type MxRecord, type Resolver } from '../../platform/dns/resolver.ts';
import type { DomainRecord, RecordRule } from './records.ts';

/** The result of checking one record. */
export interface RecordCheck {
  valid: 'true' | 'false' | 'unknown';
  /** With `false`: the value found instead; empty if there is none. */
  found?: string;
}

/** By record key. */
export type RecordChecks = Record<string, RecordCheck>;

const MAX_FOUND = 500;
/** A look-up without an answer is repeated once before it counts. */
const TRIES = 2;
/** Maximum number of hops of a CNAME chain to the tracking host. */
const MAX_CNAMES = 8;

const bare = (name: string) => name.toLowerCase().replace(/\.$/, '');
const compact = (text: string) => text.replace(/\s+/g, '');

/** Reads `tag=value` lists (RFC 6376 §3.2). The first value of a tag counts. */
function tagsOf(text: string): Map<string, string> {
  const tags = new Map<string, string>();
  for (const part of text.split(';')) {
    const equals = part.indexOf('=');
    if (equals === -1) continue;
    const name = part.slice(0, equals).trim().toLowerCase();
    if (!tags.has(name)) tags.set(name, compact(part.slice(equals + 1)));
  }
  return tags;
}

/** Whether a list such as `sha1:sha256` is absent or allows a value. */
function allows(list: string | undefined, ...values: string[]): boolean {
  return list === undefined || list.split(':').some((each) => values.includes(each.toLowerCase()));
}

/** Several key records at one name are an error (RFC 6376 §3.6.2.2). */
function isKey(found: readonly string[], wanted: string): boolean {
  const keys = found.map(tagsOf).filter((tags) => tags.has('p'));
  const [key] = keys;
  const expected = tagsOf(wanted);
  if (!key || keys.length > 1 || key.get('p') !== expected.get('p')) return false;
  if ((key.get('v') ?? 'DKIM1') !== 'DKIM1') return false;
  if ((key.get('k') ?? 'rsa').toLowerCase() !== expected.get('k')) return false;
  return allows(key.get('h'), 'sha256') && allows(key.get('s'), '*', 'email');
}

/** Several SPF records are a permanent error, which passes nothing (RFC 7208 §4.5). */
function includesSpf(found: readonly string[], wanted: string): boolean {
  const policies = found.filter((text) => /^v=spf1( |$)/i.test(text));
  const [policy] = policies;
  if (policy === undefined || policies.length > 1) return false;
  const terms = new Set(
    policy
      .toLowerCase()
      .split(/ +/)
      .map((term) => term.replace(/^\+/, '')),
  );
  const needed = wanted
    .toLowerCase()
    .split(/ +/)
    .filter((term) => !/^(v=spf1|[-~?+]?all)$/.test(term));
  return needed.every((term) => terms.has(term));
}

function isDmarc(found: readonly string[]): boolean {
  const policies = found.filter((text) => /^v=DMARC1\s*(;|$)/.test(text));
  const policy = policies.length === 1 ? tagsOf(policies[0] ?? '').get('p') : undefined;
  return ['none', 'quarantine', 'reject'].includes(policy?.toLowerCase() ?? '');
}

const textRules: Record<Exclude<RecordRule, 'mx' | 'cname'>, (found: string[], wanted: string) => boolean> = {
  dkim: isKey,
  spf: includesSpf,
  dmarc: isDmarc,
  exact: (found, wanted) => found.some((text) => text.trim() === wanted.trim()),
};

/** Bounces go to the preferred exchange, so ours must be among the most preferred. */
function isExchange(found: readonly MxRecord[], wanted: string): boolean {
  const best = Math.min(...found.map(({ priority }) => priority));
  return found.some(({ exchange, priority }) => priority === best && bare(exchange) === bare(wanted));
}

/** Anyone can publish a NUL character, which JSON in PostgreSQL cannot contain. */
function storable(text: string): string {
  return text.slice(0, MAX_FOUND).replaceAll('\0', '').toWellFormed();
}

function seen(valid: boolean, found: readonly string[]): RecordCheck {
  return valid ? { valid: 'true' } : { valid: 'false', found: storable(found.join(', ')) };
}

/** Follows a chain until it reaches the wanted name. */
async function checkCname(resolver: Resolver, { name, value }: DomainRecord): Promise<RecordCheck> {
  const chain: string[] = [];
  for (let at = name; chain.length < MAX_CNAMES;) {
    const [next] = await orNone(resolver.resolveCname(at));
    if (next === undefined) break;
    if (bare(next) === bare(value)) return { valid: 'true' };
    chain.push(bare(next));
    at = next;
  }
  return seen(false, chain.slice(0, 1));
}

/** @returns no records if the name servers say that there are none */
async function orNone<T>(looking: Promise<T[]>): Promise<T[]> {
  try {
    return await looking;
  } catch (error) {
    if (error instanceof ResolveError && error.code === 'not_found') return [];
    throw error;
  }
}

async function resolveText(resolver: Resolver, { name, fallbacks }: DomainRecord): Promise<string[]> {
  for (const each of [name, ...fallbacks]) {
    const found = await orNone(resolver.resolveTxt(each));
    if (found.length > 0) return found;
  }
  return [];
}

async function look(resolver: Resolver, record: DomainRecord): Promise<RecordCheck> {
  if (record.rule === 'cname') return checkCname(resolver, record);
  if (record.rule === 'mx') {
    const found = await orNone(resolver.resolveMx(record.name));
    return seen(
      isExchange(found, record.value),
      found.map(({ exchange, priority }) => `${priority} ${bare(exchange)}`),
    );
  }
  const found = await resolveText(resolver, record);
  return seen(textRules[record.rule](found, record.value), found);
}

async function checkRecord(resolver: Resolver, record: DomainRecord): Promise<RecordCheck> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await look(resolver, record);
    } catch (error) {
      if (!(error instanceof ResolveError)) throw error;
      if (tries === TRIES) return { valid: 'unknown' };
    }
  }
}

/**
 * Checks all records of a domain. `false` is a definite answer of the name servers, including that there is no such
 * name or record. Without an answer (time-out, SERVFAIL, REFUSED), a record is `unknown`.
 */
export async function checkRecords(
  resolver: Resolver,
  records: readonly DomainRecord[],
): Promise<RecordChecks> {
  const checks = await Promise.all(
    records.map(async (record) => [record.key, await checkRecord(resolver, record)] as const),
  );
  return Object.fromEntries(checks);
}

/** The result of a check for the domain: a wrong required record outweighs one that is unknown. */
export type Verdict = 'passed' | 'refused' | 'unanswered';

export function verdictOf(records: readonly DomainRecord[], checks: RecordChecks): Verdict {
  const required = records
    .filter((record) => record.required)
    .map(({ key }) => checks[key]?.valid ?? 'unknown');
  if (required.includes('false')) return 'refused';
  return required.includes('unknown') ? 'unanswered' : 'passed';
}
