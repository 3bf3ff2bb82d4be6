/** Checks everything that must be right before a campaign is sent, and reports all problems at once. */
import type pg from 'pg';
import { hasHtml } from '../../delivery/terms/channels/content-shapes.ts';
import type { VersionContent } from '../../delivery/content/templates/content.ts';
import type { LimitSettings } from '../../delivery/ledger/limits/authority.ts';
import { readCapacity } from '../../delivery/ledger/limits/capacity.ts';
import { Problems } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { refuseTestKey } from '../../platform/auth/test-keys.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { isStatementTimeout } from '../../platform/db/statement-limit.ts';
import type { HeavyReads } from '../../platform/processes/heavy-reads.ts';
import { type AccountRules, needsApproval, requireCapability } from '../accounts/service.ts';
import type { Brand } from '../brands/schema.ts';
import {
  addContentProblems,
  addFooterProblems,
  type CompiledContents,
  createCompiledContents,
  pinVersion,
  type Pinned,
  type TemplateDeps,
} from '../templates/service.ts';
import { audienceField, compileAudience, hasAudience, resolveAudience } from './audience.ts';
import { addForeignTemplates, variantsOf, writeVariants } from './content.ts';
import type { CampaignRow } from './model.ts';
import { type ContentSource, pinSender, type PinnedSender, type SenderDeps, usesSandbox } from './sender.ts';
import type { Pins } from './pins.ts';

export interface CheckDeps {
  pool: pg.Pool;
  heavyReads: HeavyReads;
  templates: TemplateDeps;
  sender: SenderDeps;
  limits: LimitSettings;
  /** Tiers of accounts whose campaigns an operator must approve. */
  approvalTiers: readonly string[];
}

/** How far before `scheduled_at` (in UTC) sending at local times may begin: zones are up to 14 hours ahead of UTC. */
const LOCAL_TIME_LEAD_MS = 14 * 3_600_000;

type Trigger = Pick<
  CampaignRow,
  'channel' | 'contact_list_id' | 'segment_id' | 'trigger_data' | 'trigger_filters'
>;

/** What is read before the transaction, because it may take long. */
export interface Prepared {
  brand: Brand;
  /** Contents that the request has compiled. */
  compiled: CompiledContents;
  /** Whether the audience has no contacts. */
  isEmpty: boolean;
  /** Whether the audience exceeds what is left of the sandbox's monthly cap. */
  isOverSandbox: boolean;
}

/** Waits for a statement. @returns null if it takes too long */
async function inTime<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (isStatementTimeout(error)) return null;
    throw error;
  }
}

/** The audience and content that a campaign will have after the request. */
export interface Planned {
  trigger: Trigger;
  content: ContentSource;
}

/**
 * Checks the size of the audience. If it cannot be read in time, it passes: the sandbox cap is enforced for each block
 * of the campaign anyway.
 */
async function lookAtAudience(
  { pool, heavyReads, limits, sender }: CheckDeps,
  tenant: Tenant,
  { trigger, content }: Planned,
): Promise<Pick<Prepared, 'isEmpty' | 'isOverSandbox'>> {
  const { audience, errors } = await resolveAudience(pool, tenant, trigger);
  if (Object.keys(errors).length > 0) return { isEmpty: false, isOverSandbox: false };
  const { sql, values } = await compileAudience(
    pool,
    { brandId: tenant.brandId, asOf: new Date() },
    audience,
    2,
  );
  const from = `contacts c where c.brand_id = $1 and (${sql})`;
  const read = (condition: string) =>
    inTime(
      heavyReads.run({ accountId: tenant.accountId, what: 'checks of audiences' }, async (db) => {
        const text = `select ${condition} as is`;
        const { rows } = await db.query<{ is: boolean }>(text, [tenant.brandId, ...values]);
        return rows[0]?.is === true;
      }),
    );
  const isEmpty = await read(`not exists (select 1 from ${from})`);
  if (trigger.channel !== 'email' || !(await usesSandbox(pool, sender, tenant, content))) {
    return { isEmpty: isEmpty === true, isOverSandbox: false };
  }
  const { figures } = await readCapacity(pool, tenant.accountId, limits);
  const left = Math.trunc(figures.sandbox_cap.remaining);
  const reachable = `select 1 from ${from} and c.email is not null and c.email_subscribed limit ${left + 1}`;
  const isOverSandbox = await read(`(select count(*) from (${reachable}) r) > ${left}`);
  return { isEmpty: isEmpty === true, isOverSandbox: isOverSandbox === true };
}

/** Reads what a send needs besides its campaign. */
export async function prepareChecks(deps: CheckDeps, tenant: Tenant, planned: Planned): Promise<Prepared> {
  const [brand, audience] = await Promise.all([
    deps.templates.brandOf(tenant),
    hasAudience(planned.trigger)
      ? lookAtAudience(deps, tenant, planned)
      : { isEmpty: false, isOverSandbox: false },
  ]);
  return { brand, compiled: createCompiledContents(deps.templates.contents), ...audience };
}

/** @throws AppError forbidden if the account may not have campaigns */
export function requireCampaigns(db: Queryable, tenant: Tenant): Promise<AccountRules> {
  return requireCapability(db, tenant, 'campaigns');
}

/** @throws AppError test_key; forbidden if the account may not have campaigns */
export async function requireSender(db: Queryable, tenant: Tenant): Promise<AccountRules> {
  refuseTestKey(tenant, 'send campaigns');
  return requireCampaigns(db, tenant);
}

/** Returns when the snapshot of a campaign begins. */
export function beginAtOf(
  { options }: Pick<CampaignRow, 'options'>,
  scheduledAt: Date | null,
  asOf: Date,
): Date {
  if (!scheduledAt) return asOf;
  const lead = options.send_at_local_time ? LOCAL_TIME_LEAD_MS : 0;
  return new Date(Math.max(asOf.getTime(), scheduledAt.getTime() - lead));
}

export interface PinnedContent {
  versionIds: number[];
  variantTemplateIds: number[];
  /** The content of the campaign's own template. */
  own: Pinned;
}

/**
 * Pins the content of a campaign and of its variants, and adds their problems to `problems`.
 * @throws NotPreparedError
 */
export async function pinContent(
  trx: Queryable,
  prepared: Pick<Prepared, 'brand' | 'compiled'>,
  tenant: Tenant,
  row: CampaignRow,
  problems: Problems,
): Promise<PinnedContent> {
  const pinned = await pinTemplates(trx, prepared, tenant, row, problems);
  prepared.compiled.requireAll();
  return pinned;
}

async function pinTemplates(
  trx: Queryable,
  { brand, compiled }: Pick<Prepared, 'brand' | 'compiled'>,
  tenant: Tenant,
  row: CampaignRow,
  problems: Problems,
): Promise<PinnedContent> {
  // Versions are written in the transaction because it sees the content that the request has just changed.
  const templates = { pool: trx, contents: compiled, brandOf: () => Promise.resolve(brand) };
  const pin = (id: number) => pinVersion(templates, tenant, id, { footer: 'marketing' });
  const own = await pin(row.template_id ?? 0);
  addContentProblems(problems, own, (name) => `template_attributes.${name}`);
  const variants = variantsOf(row);
  if (variants.length === 0 || !own.version) {
    return { own, versionIds: own.version ? [own.versionId] : [], variantTemplateIds: [] };
  }
  if (await addForeignTemplates(trx, tenant, row, problems)) {
    return { own, versionIds: [], variantTemplateIds: [] };
  }
  const variantTemplateIds = await writeVariants(trx, tenant, row);
  const versionIds: number[] = [];
  for (const [index, id] of variantTemplateIds.entries()) {
    const pinned = await pin(id);
    addContentProblems(problems, pinned, (name) => `data.options.ab.variants.${index}.${name}`);
    if (pinned.version) versionIds.push(pinned.versionId);
  }
  return { own, versionIds, variantTemplateIds };
}

function checkAudience(problems: Problems, row: CampaignRow, prepared: Prepared): void {
  if (!hasAudience(row)) {
    problems.add({ 'trigger_attributes.contact_list_id': ['is required, or a segment_id or data.filters'] });
  } else if (prepared.isEmpty) {
    problems.add({ [audienceField(row)]: ['selects no contacts'] });
  }
}

function checkOptions(problems: Problems, row: CampaignRow, sender: PinnedSender, scheduledAt: Date | null) {
  const { ab, send_at_local_time: isLocal } = row.options;
  // A campaign that waits for its time and is sent early ignores local times, so it needs no `scheduled_at`.
  if (isLocal && !scheduledAt && row.status === 'draft') {
    problems.add({ scheduled_at: ['is required for data.options.send_at_local_time'] });
  }
  const total = ab?.variants.reduce((sum, { weight }) => sum + weight, 0) ?? 100;
  if (!ab || total === 100) return;
  const isTracked = sender.tracking?.[ab.by] === true;
  if (!isTracked) {
    problems.add({
      'data.options.ab.by': [`cannot decide the winner, because ${ab.by} of this campaign are not tracked`],
    });
  }
}

/** The fields of a campaign's own template that are checked. */
type OwnFields = Pick<VersionContent, 'subject' | 'fromName' | 'fromEmail' | 'replyTo'>;

export async function ownFields(
  db: Queryable,
  { template_id: id }: Pick<CampaignRow, 'template_id'>,
): Promise<OwnFields> {
  const { rows } = await db.query<OwnFields>(
    `select subject, from_name as "fromName", from_email as "fromEmail", reply_to as "replyTo"
     from templates where id = $1`,
    [id],
  );
  return rows[0] ?? { subject: null, fromName: null, fromEmail: null, replyTo: null };
}

/**
 * Checks a locked campaign, and pins everything that its send pins.
 * @param trx the caller's transaction, which has applied the changes of the request
 * @param scheduledAt null: now
 * @throws AppError that lists every problem: validation_error; or sender_not_verified or sandbox_limit_reached if it is
 *   the only one
 */
export async function makePins(
  trx: pg.PoolClient,
  deps: CheckDeps,
  tenant: Tenant,
  row: CampaignRow,
  prepared: Prepared,
  { scheduledAt, account, asOf }: { scheduledAt: Date | null; account: AccountRules; asOf: Date },
): Promise<Pins> {
  const problems = new Problems();
  const { audience, errors } = await resolveAudience(trx, tenant, row);
  problems.add(errors);
  checkAudience(problems, row, prepared);
  const { publicUrl } = deps.sender.tracking;
  addFooterProblems(problems, row.channel, { brand: prepared.brand, publicUrl }, 'campaigns');
  const content = await pinContent(trx, prepared, tenant, row, problems);
  const own = await ownFields(trx, row);
  // If the content compiles, compilation has checked the subject.
  if (hasHtml(row.channel) && !content.own.version && !own.subject?.trim()) {
    problems.add({ 'template_attributes.subject': ['is required'] });
  }
  const sender = await pinSender(trx, deps.sender, tenant, row.channel, own, problems);
  checkOptions(problems, row, sender, scheduledAt);
  if (sender.isSandbox && prepared.isOverSandbox) {
    const message = 'has more contacts than the sandbox may still send to this month';
    problems.add({ [audienceField(row)]: [message] }, 'sandbox_limit_reached');
  }
  problems.throwIfAny();
  return {
    audience,
    versionIds: content.versionIds,
    variantTemplateIds: content.variantTemplateIds,
    fromAddress: sender.fromAddress,
    replyTo: sender.replyTo,
    domainId: sender.domainId,
    providerId: sender.providerId,
    tracking: sender.tracking,
    needsApproval: needsApproval(account, deps.approvalTiers),
    scheduledAt,
    beginAt: beginAtOf(row, scheduledAt, asOf),
  };
}
