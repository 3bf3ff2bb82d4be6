/** Checks everything that must be right before a flow becomes active, and reports all problems at once. */
import type pg from 'pg';
import { readSenders, senderOf } from '../../delivery/terms/sender-identity.ts';
import { Problems } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { refuseTestKey } from '../../platform/auth/test-keys.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { type AccountRules, needsApproval, requireCapability } from '../accounts/service.ts';
import type { Brand } from '../brands/schema.ts';
import {
  addContentProblems,
  addFooterProblems,
  type CompiledContents,
  pinVersion,
  type TemplateDeps,
  type TemplateRow,
} from '../templates/service.ts';
import { templatesByStep } from './content.ts';
import type { FlowRow, PinnedContent } from './model.ts';
import { fieldPath, pathsOf } from './paths.ts';
import { addForeignReferences, addTriggerProblems } from './references.ts';
import { allSteps, channelOf, sendingSteps } from './steps/index.ts';
import type { SendingStep } from './steps/sending.ts';
import type { FlowPins } from './transitions.ts';
import { writeFlowVersion } from './versions.ts';

export interface CheckDeps {
  pool: pg.Pool;
  keyring: Keyring;
  templates: TemplateDeps;
  /** The setting MAIL_DOMAIN. */
  mailDomain: string;
  /** The setting PUBLIC_URL. */
  publicUrl: string | null;
  /** Tiers of accounts whose flows an operator approves. */
  approvalTiers: readonly string[];
}

/** What is read and compiled outside the transaction. */
export interface Prepared {
  brand: Brand;
  /** Contents that the request has compiled. */
  compiled: CompiledContents;
}

/** @throws AppError forbidden if the account may not have flows */
export function requireFlows(db: Queryable, tenant: Pick<Tenant, 'accountId'>): Promise<AccountRules> {
  return requireCapability(db, tenant, 'flows');
}

/** @throws AppError test_key; forbidden if the account may not have flows */
export async function requireActivator(db: Queryable, tenant: Tenant): Promise<AccountRules> {
  refuseTestKey(tenant, 'activate flows');
  return requireFlows(db, tenant);
}

/** The path of a step in errors, by its id. */
type Paths = ReadonlyMap<number, string>;

const pathOf = (paths: Paths, { id }: { id: number }) => paths.get(id) ?? 'steps';

/** The path of a content's field. A mistake in the brand's part of a template is not reported at the step. */
export const contentField = (path: string) => (name: string) =>
  name.startsWith('brand.') ? name : fieldPath(path, name);

/** Pins the contents of steps, and adds what is wrong with them. @throws NotPreparedError */
async function pinContents(
  trx: Queryable,
  { brand, compiled }: Prepared,
  scope: BrandScope,
  steps: readonly SendingStep[],
  paths: Paths,
  problems: Problems,
): Promise<PinnedContent[]> {
  // Versions are written in the transaction because it sees the content that the request has just changed.
  const deps = { pool: trx, contents: compiled, brandOf: () => Promise.resolve(brand) };
  const contents: PinnedContent[] = [];
  for (const step of steps) {
    const pinned = await pinVersion(deps, scope, step.template_id, { footer: 'marketing' });
    addContentProblems(problems, pinned, contentField(pathOf(paths, step)));
    if (pinned.version) {
      contents.push({ step_id: step.id, template_id: step.template_id, version_id: pinned.versionId });
    }
  }
  compiled.requireAll();
  return contents;
}

/** The content of a step that sends. */
export interface SentContent extends Pick<TemplateRow, 'channel' | 'subject' | 'from_email'> {
  /** The path of the step in errors. */
  path: string;
  /** Whether the content compiles. Then compilation has checked the subject. */
  isCompiled: boolean;
}

/** Adds an error for each email whose sender is not verified, or whose subject is missing. */
export async function addSenderProblems(
  db: Queryable,
  { mailDomain }: Pick<CheckDeps, 'mailDomain'>,
  scope: BrandScope,
  emails: readonly SentContent[],
  problems: Problems,
): Promise<void> {
  if (emails.length === 0) return;
  const senders = await readSenders(db, scope, mailDomain);
  for (const { path, from_email, subject, isCompiled } of emails) {
    if (senderOf(senders, from_email).identity === null) {
      const message = 'is not a verified sender of this brand';
      problems.add({ [fieldPath(path, 'from_email')]: [message] }, 'sender_not_verified');
    }
    if (!isCompiled && !subject?.trim()) problems.add({ [fieldPath(path, 'subject')]: ['is required'] });
  }
}

export function addShapeProblems(
  problems: Problems,
  row: Pick<FlowRow, 'trigger_event' | 'contact_list_id' | 'segment_id' | 'steps'>,
): void {
  if ((row.trigger_event ?? row.contact_list_id ?? row.segment_id) === null) {
    problems.add({ trigger: ['is required: an event, a contact_list_id or a segment_id'] });
  }
  if (row.steps.length === 0) problems.add({ steps: ['must have at least one step'] });
}

/**
 * Checks a locked flow, and pins everything that activation pins.
 * @param trx the caller's transaction, which has applied the changes of the request
 * @param options.move whether runs under way move to the new steps
 * @throws AppError that lists every problem: validation_error, or sender_not_verified if no other was found
 */
export async function makePins(
  trx: pg.PoolClient,
  deps: CheckDeps,
  tenant: Tenant,
  row: FlowRow,
  prepared: Prepared,
  { account, move }: { account: AccountRules; move: boolean },
): Promise<FlowPins> {
  const problems = new Problems();
  const paths = pathsOf(row.steps);
  const steps = allSteps(row.steps).map((step) => ({ step, path: pathOf(paths, step) }));
  addShapeProblems(problems, row);
  await addTriggerProblems(trx, tenant, row, problems);
  await addForeignReferences(trx, tenant, steps, problems);
  const sending = sendingSteps(row.steps);
  const emails = sending.filter((step) => channelOf(step) === 'email');
  if (emails.length > 0) {
    addFooterProblems(problems, 'email', { brand: prepared.brand, publicUrl: deps.publicUrl }, 'flows');
  }
  const contents = await pinContents(trx, prepared, tenant, sending, paths, problems);
  const compiled = new Set(contents.map((content) => content.step_id));
  const templates = await templatesByStep(trx, tenant, emails);
  const sent = emails.flatMap((step): SentContent[] => {
    const template = templates.get(step.id);
    return template ? [{ ...template, path: pathOf(paths, step), isCompiled: compiled.has(step.id) }] : [];
  });
  await addSenderProblems(trx, deps, tenant, sent, problems);
  problems.throwIfAny();
  return {
    version_id: await writeFlowVersion(trx, row),
    contents,
    move,
    needsApproval: needsApproval(account, deps.approvalTiers),
  };
}
