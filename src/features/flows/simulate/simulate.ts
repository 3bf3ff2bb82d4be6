import { invalid, notFound, type ValidationErrors } from '../../../errors.ts';
import type { Tenant } from '../../../platform/auth/tenant.ts';
import type { HeavyReads } from '../../../platform/processes/heavy-reads.ts';
import { namesTriggerValue } from '../entry/entry-filters.ts';
import { findFlow } from '../model.ts';
import { allSteps, type Step, stepTable } from '../steps/index.ts';
import { type Answer, type Answers, simulateRun } from './simulation.ts';
import { readSimulatedContact } from './simulated-contact.ts';
import type { FlowSimulation, SimulateBody } from './schema.ts';

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

/** @throws AppError validation_error */
function readAnswers(
  given: SimulateBody['answers'],
  flow: { steps: readonly Step[]; goal: string | null },
): Answers {
  const byId = new Map(allSteps(flow.steps).map((step) => [String(step.id), step]));
  const errors: ValidationErrors = {};
  const steps = new Map<number, Answer>();
  for (const [id, answer] of Object.entries(given?.steps ?? {})) {
    const problem = problemOf(byId.get(id), answer);
    if (problem === null) steps.set(Number(id), answer);
    else errors[`answers.steps.${id}`] = [problem];
  }
  if (given?.goal && flow.goal === null)
    errors['answers.goal'] = ['must be left out, because the flow has no goal'];
  if (Object.keys(errors).length > 0) throw invalid(errors);
  return { steps, goalAfterSeconds: given?.goal?.after_seconds ?? null };
}

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
  const { brandId } = tenant;
  return reads.run({ accountId: tenant.accountId, what: 'simulations of flows' }, async (db) => {
    const flow = await findFlow(db, tenant, flowId);
    if (!flow) throw notFound('flow');
    const { contact_id: contactId } = body;
    if (contactId === undefined) throw invalid({ contact_id: ['is required'] });
    const answers = readAnswers(body.answers, flow);
    const at = body.at === undefined ? new Date() : new Date(body.at);
    const trigger = body.event_data ?? null;
    const of = { flowId, brandId, contactId, trigger };
    const contact = await readSimulatedContact(db, of);
    if (!contact) throw invalid({ contact_id: ['is not a contact of the brand'] });
    const { filters = [], exit_filters: exitFilters = [] } = flow.trigger_data;
    const entry = { asOf: at, changes: { data: {}, lists: new Map(), events: [] }, steps: new Map() };
    const isAutomatic = flow.trigger_event === 'email_received' && trigger?.auto_submitted === true;
    const mayEnter = !isAutomatic || namesTriggerValue(filters, 'auto_submitted');
    const passes = mayEnter && (filters.length === 0 || (await contact.matches(entry, filters)));
    const simulated = { steps: flow.steps, exitFilters, goal: flow.goal };
    const result = await simulateRun(simulated, contact, { at, answers, eventData: trigger ?? {} });
    return { passes_filters: passes, ...result };
  });
}
