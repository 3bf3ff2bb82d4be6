import { z } from 'zod';
import { jsonWithoutLiquid } from '../../../delivery/terms/texts/no-liquid.ts';
import { eventData, trackableEventName } from '../../contact-events/schema.ts';
import { type ChainedResult, trackChained } from '../../contact-events/service.ts';
import type { StepResult } from '../run/interpreter.ts';
import { presentedFields, stepShape } from './shapes.ts';
import { type Acting, actAndGoOn, type StepType } from './step.ts';

export interface EventStep {
  type: 'event';
  id: number;
  event_name: string;
  forward_event_data?: boolean;
  data?: Readonly<Record<string, unknown>>;
}

/** How many flows may start one another by events: a client's event starts the first, whose event starts the next. */
export const MAX_CHAIN_DEPTH = 5;

function resultOf(result: ChainedResult): StepResult {
  if (result.status !== 'refused') return { outcome: 'done', eventId: result.id };
  const { reason } = result;
  const detail = reason === 'invalid_data' ? { reason, message: `data ${result.message}` } : { reason };
  return { outcome: 'refused', detail };
}

/**
 * Locks the events of the brand, then those of the contact. If a flow has such a step, a transaction that locks its
 * contact must lock the brand first.
 */
async function act(step: EventStep, { trx, run, consumers, afterCommit, holdLocks }: Acting) {
  holdLocks();
  const chainDepth = run.chain_depth + 1;
  if (chainDepth > MAX_CHAIN_DEPTH) {
    return { outcome: 'refused', detail: { reason: 'chain_depth', depth: chainDepth } };
  }
  const forwarded = step.forward_event_data ? run.event?.data : null;
  const { result, afterCommit: then } = await trackChained(trx, consumers, {
    accountId: run.account_id,
    brandId: run.brand_id,
    contactId: run.contact_id,
    name: step.event_name,
    data: { ...forwarded, ...step.data },
    test: run.test,
    key: `flow-run/${run.id}/${step.id}/0`,
    chainDepth,
    mail: run.event?.mail ?? null,
  });
  afterCommit.push(...then);
  return resultOf(result);
}

/** Tracks an event of the contact. */
export const event: StepType<EventStep> = {
  type: 'event',
  shape: stepShape('event', {
    event_name: trackableEventName,
    forward_event_data: z.boolean().optional(),
    data: jsonWithoutLiquid(eventData, 'event steps').optional(),
  }),
  presented: {
    event_name: presentedFields.eventName,
    forward_event_data: z.boolean(),
    data: presentedFields.jsonObject,
  },
  run: actAndGoOn,
  alone: true,
  act,
  simulate(step, { asOf, changes, eventData: forwarded }) {
    const data = { ...(step.forward_event_data && forwarded), ...step.data };
    changes.events.push({ name: step.event_name, data, at: asOf });
    return { outcome: 'done' };
  },
};
