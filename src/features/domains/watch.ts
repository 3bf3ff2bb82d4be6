import type pg from 'pg';
import type { DomainRegistration } from '../../../workflows/domains/contract.ts';
import { DomainRefusedError } from '../../delivery/wire/adapters/http-api.ts';
import { releaseDomainPage, waitsForDomain } from '../../delivery/ledger/release/release-domain.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import type { Waker } from '../../platform/db/wake.ts';
import type { Resolver } from '../../platform/dns/resolver.ts';
import { createEvent } from '../../platform/events/define.ts';
import type { EventPublisher, QueuedWork } from '../../platform/events/publish.ts';
import { appendToOutbox } from '../../platform/outbox/append.ts';
import { type RecordChecks, checkRecords, verdictOf } from './check.ts';
import { domainEvents } from './events.ts';
import {
  completeDomainStep,
  type DomainRow,
  endRelease,
  findById,
  findRelated,
  isRegistered,
  lockClaims,
  saveCheck,
  saveOptionalRecords,
  saveProviderError,
  saveProviderRecords,
} from './model.ts';
import { type LoadedDomain, presentRecords, recordsOfDomain } from './presenter.ts';
import { type ProviderAccess, registerWithProvider, verifyWithProvider } from './provider.ts';
import type { DomainRecord, ServiceHosts } from './records.ts';
import { createNotes, createUnregister } from './registrations.ts';
import {
  afterCheck,
  type DomainChange,
  type DomainState,
  lose,
  nextCheck,
  type Transition,
  whileUnregistered,
} from './transitions.ts';
import { watchWake } from './workflow.ts';

export interface DomainWatchDeps {
  pool: pg.Pool;
  access: ProviderAccess;
  resolver: Resolver;
  events: EventPublisher;
  waker: Pick<Waker, 'wake'>;
  hosts: ServiceHosts;
}

/** A domain after a check. */
export interface CheckedDomain {
  row: DomainRow;
  registration: DomainRegistration;
  /** The required records that are not right, by key. */
  problems: { key: string; valid: 'false' | 'unknown' }[];
}

export interface DomainWatch {
  /**
   * Checks the records of a domain if a check is due, and records the consequences. A domain whose provider has not
   * named its records is not verified.
   * @param force check even if no check is due
   * @returns null if the domain was deleted
   */
  check(domainId: number, asOf: Date, force: boolean): Promise<CheckedDomain | null>;
  /**
   * Registers a domain with its named provider, and stores the records that the provider requires, or why it refuses
   * the domain. After a refusal, the provider is asked again once a check is due.
   * @param force ask even if no check is due
   * @throws Error if the provider cannot be reached; that may be temporary
   */
  register(domainId: number, asOf: Date, force: boolean): Promise<void>;
  /**
   * Removes the registration of a deleted domain at its provider, if Carillon made it and no other domain uses it.
   * @throws Error if the provider cannot be reached, or refuses
   */
  unregister(domainId: number): Promise<void>;
  /**
   * Releases a page of the mail that waits for the domain.
   * @returns whether nothing is left
   * @throws Error if other statements have locked everything that is left: try again a moment later
   */
  release(domain: { domainId: number; accountId: number }): Promise<boolean>;
}

function stateOf(row: DomainRow): DomainState {
  return {
    status: row.status,
    checkingSince: row.checking_since,
    verifiedAt: row.verified_at,
    lostAt: row.lost_at,
    failingSince: row.failing_since,
    failingCount: row.failing_count,
    unansweredSince: row.unanswered_since,
    degradedAt: row.degraded_at,
    takenOver: row.taken_over,
  };
}

async function loadDomain(db: Queryable, domainId: number): Promise<LoadedDomain | null> {
  const row = await findById(db, domainId);
  const related = (await findRelated(db, [domainId])).get(domainId);
  return row && related ? { row, related } : null;
}

function problemsOf(records: readonly DomainRecord[], checks: RecordChecks): CheckedDomain['problems'] {
  return records
    .filter(({ required }) => required)
    .flatMap(({ key }) => {
      const valid = checks[key]?.valid ?? 'unknown';
      return valid === 'true' ? [] : [{ key, valid }];
    });
}

/** The result of one query of the name servers. */
interface Look {
  domain: LoadedDomain;
  records: readonly DomainRecord[];
  checks: RecordChecks;
  asOf: Date;
}

async function publish(
  trx: Queryable,
  events: EventPublisher,
  row: DomainRow,
  change: DomainChange,
  { asOf, records, checks }: Pick<Look, 'asOf' | 'records' | 'checks'>,
): Promise<QueuedWork> {
  const { account_id: accountId, brand_id: brandId } = row;
  const data = { domain_id: row.id, name: row.name, records: presentRecords(records, checks) };
  return events.publish(trx, [
    createEvent(domainEvents[change], { accountId, brandId, occurredAt: asOf, data }),
  ]);
}

/** Another claim has proved the name: the former owner loses it in the same transaction. */
async function takeFrom(
  trx: Queryable,
  { events, hosts }: DomainWatchDeps,
  holder: DomainRow,
  asOf: Date,
): Promise<QueuedWork> {
  const state = { ...lose(stateOf(holder), asOf), takenOver: true };
  const row = await saveCheck(trx, holder.id, state, {
    checks: holder.checks,
    checkedAt: holder.checked_at,
    nextCheckAt: nextCheck(state, asOf),
  });
  await appendToOutbox(trx, watchWake({ id: row.id, accountId: row.account_id, brandId: row.brand_id }));
  const related = (await findRelated(trx, [row.id])).get(row.id) ?? {
    provider: null,
    keys: [],
    has_inbox: false,
  };
  const records = recordsOfDomain({ row, related }, hosts);
  return publish(trx, events, row, 'verificationLost', { asOf, records, checks: row.checks });
}

/** What a check has changed. */
interface Recorded {
  row: DomainRow;
  change: DomainChange | null;
  queued: QueuedWork[];
}

/** @param holder the verified claim, if it is another one */
function transitionOf(look: Look, row: DomainRow, holder: DomainRow | undefined): Transition {
  const { domain, records, checks, asOf } = look;
  const before = stateOf(row);
  if (!isRegistered(domain.row)) return whileUnregistered(before, row.provider_error !== null, asOf);
  // A key that disappears from the DNS and comes back is a new proof.
  if (checks.dkim_rsa?.valid === 'false') before.takenOver = false;
  const verdict = verdictOf(records, checks);
  const barred = verdict === 'passed' && holder !== undefined && before.takenOver;
  return afterCheck(before, barred ? 'refused' : verdict, asOf);
}

/**
 * Locks all claims of the name, so that two of them cannot prove it at once.
 * @returns null if the domain is deleted
 */
async function recordCheck(trx: Queryable, deps: DomainWatchDeps, look: Look): Promise<Recorded | null> {
  const { domain, checks, asOf } = look;
  const claims = await lockClaims(trx, domain.row.name);
  const row = claims.find(({ id }) => id === domain.row.id);
  if (!row) return null;
  // Another run of this activity has recorded a newer check.
  if (
    row.checked_at?.getTime() !== domain.row.checked_at?.getTime() ||
    isRegistered(row) !== isRegistered(domain.row)
  ) {
    return { row, change: null, queued: [] };
  }
  const holder = claims.find(({ id, status }) => status === 'verified' && id !== row.id);
  const { state, change, nextCheckAt } = transitionOf(look, row, holder);
  const queued: QueuedWork[] = [];
  if (change === 'verified' && holder) queued.push(await takeFrom(trx, deps, holder, asOf));
  const saved = await saveCheck(trx, row.id, state, { checks, checkedAt: asOf, nextCheckAt });
  if (change === 'verified') await completeDomainStep(trx, row.account_id, asOf);
  if (change) queued.push(await publish(trx, deps.events, saved, change, look));
  return { row: saved, change, queued };
}

function checked(row: DomainRow, records: readonly DomainRecord[]): CheckedDomain {
  if (isRegistered(row)) return { row, registration: 'done', problems: problemsOf(records, row.checks) };
  return { row, registration: row.provider_error === null ? 'waiting' : 'refused', problems: [] };
}

async function checkDomain(
  deps: DomainWatchDeps,
  domainId: number,
  asOf: Date,
  force: boolean,
): Promise<CheckedDomain | null> {
  const { pool, resolver, waker, hosts } = deps;
  const domain = await loadDomain(pool, domainId);
  if (!domain) return null;
  const records = recordsOfDomain(domain, hosts);
  if (!force && domain.row.next_check_at > asOf) {
    return checked(domain.row, records);
  }
  const checks = isRegistered(domain.row) ? await checkRecords(resolver, records) : domain.row.checks;
  const recorded = await inTransaction(pool, (trx) =>
    recordCheck(trx, deps, { domain, records, checks, asOf }),
  );
  if (!recorded) return null;
  waker.wake('outbox');
  if (recorded.change === 'verified') {
    const further = await verifyWithProvider(deps.access, recorded.row);
    if (further) await saveOptionalRecords(pool, domainId, further);
  }
  for (const channel of recorded.queued.flatMap((work) => [...work.keys()])) waker.wake(channel);
  return checked(recorded.row, records);
}

async function register(
  { pool, access }: DomainWatchDeps,
  domainId: number,
  asOf: Date,
  force: boolean,
): Promise<void> {
  const row = await findById(pool, domainId);
  if (!row || isRegistered(row)) return;
  if (row.provider_error !== null && !force && row.next_check_at > asOf) return;
  const notes = createNotes(pool, row);
  try {
    const demand = await registerWithProvider(access, row, notes);
    await saveProviderRecords(pool, domainId, demand, asOf);
  } catch (error) {
    if (!(error instanceof DomainRefusedError)) throw error;
    access.log.warn({ err: error, domain_id: domainId }, 'provider refuses a domain');
    await notes.refused();
    await saveProviderError(pool, domainId, error.message, asOf);
  }
}

export function createDomainWatch(deps: DomainWatchDeps): DomainWatch {
  const { pool, waker } = deps;
  return {
    check: (domainId, asOf, force) => checkDomain(deps, domainId, asOf, force),
    register: (domainId, asOf, force) => register(deps, domainId, asOf, force),
    unregister: createUnregister(deps),
    async release(domain) {
      const { released, backlogs } = await releaseDomainPage(pool, domain);
      if (released > 0) {
        waker.wake('send', backlogs);
        return false;
      }
      if (await waitsForDomain(pool, domain)) throw new Error('all mail that still waits is locked');
      await endRelease(pool, domain.domainId);
      return true;
    },
  };
}
