import { invalid, notFound, Problems, type ValidationErrors } from '../../../errors.ts';
import type { Tenant } from '../../../platform/auth/tenant.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { HeavyReads } from '../../../platform/processes/heavy-reads.ts';
import type { Keyring } from '../../../platform/secrets/keyring.ts';
import { namesTriggerValue } from '../entry/entry-filters.ts';
import { findFlow, type FlowRow } from '../model.ts';
import { pathsOf } from '../paths.ts';
import { allSteps, type Step, stepTable } from '../steps/index.ts';
import { type Answer, type Answers, simulateRun } from './simulation.ts';
import { readSimulatedContact } from './simulated-contact.ts';
import type { FlowSimulation, SimulateBody, SimulateUnsavedBody } from './schema.ts';
import { readUnsaved } from '../unsaved.ts';

/** @returns what is wrong with an answer; null if nothing is */
function problemOf(step: Step | undefined, answer: Answer): string | null {
  if (!step) return 'names a step that the flow does not have';
  const { assumptions } = stepTable.types.get(step.type) ?? {};
  if (!assumptions) return `names a step of type ${step.type}, about which nothing can be assumed`;
  const { yesNo } = assumptions;
  const fields = Object.keys(assumptions.fields);
  if (typeof answer === 'string') return yesNo ? null : `must be an object with ${fields.join(' and ')}`;
  const unknown = Object.keys(answer).find((name) => !fields.includes(name));
  if (unknown === undefined && fields.length > 0) return null;
  const allowed = fields.length > 0 ? `an object with ${fields.join(' and ')}` : null;
  const words = yesNo ? '"yes" or "no"' : null;
  return `must be ${[words, allowed].filter((each) => each !== null).join(', or ')} for a step of type ${step.type}`;
}

type Simulated = Pick<FlowRow, 'id' | 'steps' | 'goal' | 'trigger_event' | 'trigger_data'>;

/** @param refs ids of steps by their refs @throws AppError validation_error */
function readAnswers(
  given: SimulateBody['answers'],
  flow: Simulated,
  refs: ReadonlyMap<string, number>,
): Answers {
  const byId = new Map(allSteps(flow.steps).map((step) => [String(step.id), step]));
  const errors: ValidationErrors = {};
  const steps = new Map<number, Answer>();
  for (const [name, answer] of Object.entries(given?.steps ?? {})) {
    const step = byId.get(String(refs.get(name) ?? name));
    const problem = problemOf(step, answer);
    if (problem === null && step) steps.set(step.id, answer);
    else errors[`answers.steps.${name}`] = [problem ?? ''];
  }
  if (given?.goal && flow.goal === null)
    errors['answers.goal'] = ['must be left out, because the flow has no goal'];
  if (Object.keys(errors).length > 0) throw invalid(errors);
  return { steps, goalAfterSeconds: given?.goal?.after_seconds ?? null };
}

async function simulateOf(
  db: Queryable,
  { brandId }: Tenant,
  flow: Simulated,
  body: SimulateBody,
  refs: ReadonlyMap<string, number>,
): Promise<FlowSimulation> {
  const { contact_id: contactId } = body;
  if (contactId === undefined) throw invalid({ contact_id: ['is required'] });
  const answers = readAnswers(body.answers, flow, refs);
  const at = body.at === undefined ? new Date() : new Date(body.at);
  const trigger = body.event_data ?? null;
  const contact = await readSimulatedContact(db, { flowId: flow.id, brandId, contactId, trigger });
  if (!contact) throw invalid({ contact_id: ['is not a contact of the brand'] });
  const { filters = [], exit_filters: exitFilters = [] } = flow.trigger_data;
  const entry = { asOf: at, changes: { data: {}, lists: new Map(), events: [] }, steps: new Map() };
  const isAutomatic = flow.trigger_event === 'email_received' && trigger?.auto_submitted === true;
  const mayEnter = !isAutomatic || namesTriggerValue(filters, 'auto_submitted');
  const passes = mayEnter && (filters.length === 0 || (await contact.matches(entry, filters)));
  const simulated = { steps: flow.steps, exitFilters, goal: flow.goal };
  const { path, ends } = await simulateRun(simulated, contact, { at, answers, eventData: trigger ?? {} });
  const positions = pathsOf(flow.steps);
  return {
    passes_filters: passes,
    path: path.map((step) => ({ ...step, position: positions.get(step.step_id) ?? 'steps' })),
    ends,
  };
}

const WHAT = 'simulations of flows';

/**
 * Simulates the run of a contact through the current steps of a flow. Nothing is stored or sent.
 * @throws AppError not_found; validation_error; rate_limited or unavailable if its conditions take too long
 */
export function simulateFlow(
  reads: HeavyReads,
  tenant: Tenant,
  flowId: number,
  body: SimulateBody,
): Promise<FlowSimulation> {
  return reads.run({ accountId: tenant.accountId, what: WHAT }, async (db) => {
    const flow = await findFlow(db, tenant, flowId);
    if (!flow) throw notFound('flow');
    return simulateOf(db, tenant, flow, body, new Map());
  });
}

/**
 * Simulates the run of a contact through the steps of a request. Nothing is stored or sent.
 * @throws as {@link simulateFlow}
 */
export function simulateUnsaved(
  { reads, keyring }: { reads: HeavyReads; keyring: Keyring },
  tenant: Tenant,
  { contact_id, event_data, at, answers, ...unsaved }: SimulateUnsavedBody,
): Promise<FlowSimulation> {
  return reads.run({ accountId: tenant.accountId, what: WHAT }, async (db) => {
    const problems = new Problems();
    const { row, refs } = await readUnsaved({ db, keyring }, tenant, unsaved, problems);
    problems.throwIfAny();
    return simulateOf(db, tenant, row, { contact_id, event_data, at, answers }, refs);
  });
}
