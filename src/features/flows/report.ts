/** The report of a flow: how many contacts entered, how runs ended, and the outcomes of the messages of each step. */
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { isStatementTimeout } from '../../platform/db/statement-limit.ts';
import type { HeavyReads } from '../../platform/processes/heavy-reads.ts';
import { type FlowCount, readFlowCounts } from './counts.ts';
import type { FlowRow } from './model.ts';
import { allSteps, channelOf } from './steps/index.ts';

const count = z.int().min(0);
const rate = z.number().nullable().meta({ description: 'Null if the divisor is 0.' });
const NOT_COUNTED = 'Null if counting takes too long.';
const byReason = z.record(z.string(), count).meta({ description: 'By reason.' });

const results = {
  sent_count: count.meta({ description: 'A provider has accepted the message.' }),
  delivered_count: count,
  opened_count: count.meta({ description: 'Messages that a person opened. Scanners and bots do not count.' }),
  clicked_count: count.meta({ description: 'Messages in which a person clicked a link.' }),
  bounced_count: count,
  complained_count: count,
  failed_count: count,
  skipped_count: count.meta({
    description: 'The contact unsubscribed, was suppressed or deleted after the message was written.',
  }),
  unknown_count: count.meta({
    description: 'Messages that may have been sent: the response of the provider is unknown.',
  }),
  resent_count: count.meta({
    description:
      'Messages that were `unknown` and were handed over again, by the setting of the flow or a request. They count as ' +
      'what they have become, too.',
  }),
  canceled_count: count,
};
const rates = z.object({
  delivered: rate,
  opened: rate,
  clicked: rate,
  clicked_of_opened: rate,
  bounced: rate,
  complained: rate,
});

export const flowReportSchema = z
  .object({
    flow_id: z.int(),
    from: z.iso.date().nullable(),
    to: z.iso.date().nullable(),
    entered_count: count,
    not_entered: byReason,
    in_progress_count: count
      .nullable()
      .meta({ description: `Now, whatever \`from\` and \`to\` are. ${NOT_COUNTED}` }),
    completed_count: count,
    exited: byReason,
    canceled: byReason,
    goal_count: count.meta({
      description: 'Runs that ended because the contact reached the goal of the flow.',
    }),
    goal_rate: rate,
    messages: z.object({ accepted_count: count, ...results, rates }),
    steps: z.array(
      z.object({
        step_id: z.int(),
        type: z.string().nullable().meta({ description: 'Null if the step has been removed from the flow.' }),
        in_progress_count: count
          .nullable()
          .meta({ description: `Runs that are currently at the step. ${NOT_COUNTED}` }),
        messages: z
          .object({
            accepted_count: count.meta({ description: 'Messages that the step has created.' }),
            not_accepted: byReason.meta({
              description:
                'Runs without a message at this step, by reason: `no_address`, `no_price`, `frequency_cap`, `answer_limit`, `automatic_mail`, `sandbox_limit_reached`.',
            }),
            ...results,
            rates,
          })
          .nullable()
          .meta({ description: 'Null if the step sends no messages.' }),
      }),
    ),
  })
  .meta({ id: 'FlowReport' });
export type FlowReport = z.input<typeof flowReportSchema>;

/** Days in UTC, inclusive. */
export const flowReportQuery = z.strictObject({
  from: z.iso.date().optional().meta({ description: 'The first day, in UTC.' }),
  to: z.iso.date().optional().meta({
    description: 'The last day, in UTC. Outcomes of a message count on the day on which it was sent.',
  }),
});

const names = [
  'sent',
  'delivered',
  'opened',
  'clicked',
  'bounced',
  'complained',
  'failed',
  'skipped',
  'unknown',
  'resent',
  'canceled',
] as const;

type Counts = ReadonlyMap<string, number>;

/** A correction may be counted before the change that it corrects, so a sum can be negative for a moment. */
const countIn = (counts: Counts, name: string) => Math.max(0, counts.get(name) ?? 0);
const ratio = (part: number, whole: number) => (whole === 0 ? null : part / whole);

function presentResults(counts: Counts) {
  const of = (name: string) => countIn(counts, name);
  const sent = of('sent');
  return {
    accepted_count: of('accepted'),
    sent_count: sent,
    delivered_count: of('delivered'),
    opened_count: of('opened'),
    clicked_count: of('clicked'),
    bounced_count: of('bounced'),
    complained_count: of('complained'),
    failed_count: of('failed'),
    skipped_count: of('skipped'),
    unknown_count: of('unknown'),
    resent_count: of('resent'),
    canceled_count: of('canceled'),
    rates: {
      delivered: ratio(of('delivered'), sent),
      opened: ratio(of('opened'), sent),
      clicked: ratio(of('clicked'), sent),
      clicked_of_opened: ratio(of('clicked'), of('opened')),
      bounced: ratio(of('bounced'), sent),
      complained: ratio(of('complained'), sent),
    },
  };
}

/** Returns the counts whose names have one of these prefixes, by the rest of the name, largest first. */
function reasonsOf(counts: Counts, ...prefixes: readonly string[]): Record<string, number> {
  const reasons: [string, number][] = [];
  for (const [name, n] of counts) {
    const prefix = prefixes.find((each) => name.startsWith(`${each}:`));
    if (prefix !== undefined && n > 0) reasons.push([name.slice(prefix.length + 1), n]);
  }
  return Object.fromEntries(reasons.sort(([, one], [, other]) => other - one));
}

function byStep(found: readonly FlowCount[]): Map<number, Map<string, number>> {
  const steps = new Map<number, Map<string, number>>();
  for (const { stepId, name, count: n } of found) {
    const counts = steps.get(stepId) ?? new Map<string, number>();
    steps.set(stepId, counts.set(name, (counts.get(name) ?? 0) + n));
  }
  return steps;
}

/** Counts the active runs of the flow `$1` by step. An index covers all columns that it reads. */
export const IN_PROGRESS_SQL = `select coalesce(step_id, 0) as step, count(*)::bigint as count from flow_runs
  where flow_id = $1 and state = 'active' and not test group by 1`;

/** Counts active runs by step, without those of test events; 0 means runs before their first step. */
async function findInProgress(db: Queryable, flowId: number): Promise<Map<number, number>> {
  const { rows } = await db.query<{ step: number; count: number }>({
    name: 'runs_in_progress',
    text: IN_PROGRESS_SQL,
    values: [flowId],
  });
  return new Map(rows.map(({ step, count: n }) => [step, n]));
}

function presentSteps(
  row: FlowRow,
  counts: ReadonlyMap<number, Counts>,
  inProgress: ReadonlyMap<number, number> | null,
): FlowReport['steps'] {
  const steps = new Map(allSteps(row.steps).map((step) => [step.id, step]));
  const others = [...counts.keys(), ...(inProgress?.keys() ?? [])].filter((id) => id !== 0 && !steps.has(id));
  const ids = [...steps.keys(), ...[...new Set(others)].sort((one, other) => one - other)];
  return ids.map((id) => {
    const ofStep = counts.get(id);
    const step = steps.get(id);
    const sends = (step && channelOf(step) !== null) || (ofStep && ofStep.size > 0);
    const messages = {
      ...presentResults(ofStep ?? new Map()),
      not_accepted: reasonsOf(ofStep ?? new Map(), 'skipped', 'failed'),
    };
    return {
      step_id: id,
      type: step?.type ?? null,
      in_progress_count: inProgress && (inProgress.get(id) ?? 0),
      messages: sends ? messages : null,
    };
  });
}

function sumOf(counts: ReadonlyMap<number, Counts>): Counts {
  const total = new Map<string, number>();
  for (const ofStep of counts.values()) {
    for (const name of ['accepted', ...names]) {
      total.set(name, (total.get(name) ?? 0) + (ofStep.get(name) ?? 0));
    }
  }
  return total;
}

/**
 * Returns the report of a flow. It reads counters, one row per day, step and name; it counts rows only for active runs.
 * @throws AppError rate_limited; unavailable if it takes too long
 */
export async function reportFlow(
  reads: HeavyReads,
  row: FlowRow,
  { from = null, to = null }: { from?: string | null | undefined; to?: string | null | undefined },
): Promise<FlowReport> {
  return reads.run({ accountId: row.account_id, what: 'reports of flows' }, async (db) => {
    const found = await readFlowCounts(db, row.id, { from, to }).catch((error: unknown) => {
      if (!isStatementTimeout(error)) throw error;
      throw new AppError('unavailable', 'the report takes too long now; try again later');
    });
    const inProgress = await findInProgress(db, row.id).catch((error: unknown) => {
      if (!isStatementTimeout(error)) throw error;
      return null;
    });
    const counts = byStep(found);
    const own: Counts = counts.get(0) ?? new Map();
    const entered = countIn(own, 'entered');
    const steps = presentSteps(row, counts, inProgress);
    const messages = presentResults(sumOf(counts));
    return {
      flow_id: row.id,
      from,
      to,
      entered_count: entered,
      not_entered: reasonsOf(own, 'not_entered'),
      in_progress_count: inProgress && [...inProgress.values()].reduce((sum, n) => sum + n, 0),
      completed_count: countIn(own, 'completed'),
      exited: reasonsOf(own, 'exited'),
      canceled: reasonsOf(own, 'canceled'),
      goal_count: countIn(own, 'goal'),
      goal_rate: ratio(countIn(own, 'goal'), entered),
      messages,
      steps,
    };
  });
}
