/** What the roles without an API show in `/metrics`, beside the metrics of their processes. */
import type pg from 'pg';
import { readQueueAges } from '../delivery/ledger/claim/queue-ages.ts';
import { upkeep } from '../features/upkeep.ts';
import type { FigureSource } from '../platform/http/operators.ts';
import { readOutboxBacklog } from '../platform/outbox/backlog.ts';
import type { QueueLoop } from '../platform/queue/loop.ts';

/** Maximum number of rows without their workflow that are counted. */
const MAX_COUNTED = 1_000;

/** Metrics of the worker, about the whole installation. */
export function workerFigures(pool: pg.Pool): FigureSource[] {
  const outbox = () => readOutboxBacklog(pool);
  return [
    {
      name: 'carillon_outbox_entries',
      help: 'Requests to the engine that wait, by priority',
      labels: ['priority'],
      read: async () =>
        (await outbox()).map(({ priority, entries }) => ({
          labels: { priority: `${priority}` },
          value: entries,
        })),
    },
    {
      name: 'carillon_outbox_oldest_seconds',
      help: 'Age of the oldest request to the engine that waits, by priority',
      labels: ['priority'],
      read: async () =>
        (await outbox()).map(({ priority, ageSeconds }) => ({
          labels: { priority: `${priority}` },
          value: ageSeconds,
        })),
    },
    {
      name: 'carillon_workflows_overdue',
      help: `Rows whose workflow has not been active in time, such as runs of flows; at most ${MAX_COUNTED} are counted`,
      labels: ['source'],
      read: () =>
        Promise.all(
          upkeep.expectedWorkflows.map(async (source) => ({
            labels: { source: source.name },
            value: (await source.overdue(pool, new Date(), MAX_COUNTED)).length,
          })),
        ),
    },
    {
      name: 'carillon_money_mismatches',
      help: 'What did not agree in the last nightly check of wallets, months and reservations, by problem',
      labels: ['problem'],
      read: async () =>
        (
          await pool.query<{ problem: string; count: number }>(
            'select problem, count(*) from money_mismatches group by problem',
          )
        ).rows.map(({ problem, count }) => ({ labels: { problem }, value: count })),
    },
    {
      name: 'carillon_queue_oldest_due_seconds',
      help: 'How long the first due message waits, by channel and class',
      labels: ['channel', 'class'],
      read: async () =>
        (await readQueueAges(pool)).map(({ channel, class: of, ageSeconds }) => ({
          labels: { channel, class: of },
          value: ageSeconds,
        })),
    },
  ];
}

/** Metrics of a sender, as its lanes report them. */
export function senderFigures(loops: readonly Pick<QueueLoop, 'kind' | 'report'>[]): FigureSource[] {
  const reports = () => loops.map((loop) => ({ kind: loop.kind, report: loop.report() }));
  return [
    {
      name: 'carillon_lane_handled_total',
      help: 'Messages or webhook deliveries that the loop has handled, by lane',
      labels: ['lane'],
      read: () =>
        reports().map(({ kind, report }) => ({ labels: { lane: kind }, value: report.handledTotal })),
    },
    {
      name: 'carillon_lane_in_flight',
      help: 'Claimed and not recorded, by lane',
      labels: ['lane'],
      read: () => reports().map(({ kind, report }) => ({ labels: { lane: kind }, value: report.inFlight })),
    },
    {
      name: 'carillon_lane_running',
      help: '1 if the lane takes new work; 0 if it is paused or drains',
      labels: ['lane'],
      read: () =>
        reports().map(({ kind, report }) => ({
          labels: { lane: kind },
          value: report.mode === 'running' ? 1 : 0,
        })),
    },
    {
      name: 'carillon_lane_backlog',
      help: 'What waited when the loop last polled, by lane and part',
      labels: ['lane', 'part'],
      read: () =>
        reports().flatMap(({ kind, report }) =>
          Object.entries(report.backlog).map(([part, value]) => ({ labels: { lane: kind, part }, value })),
        ),
    },
    {
      name: 'carillon_provider_open',
      help: '1 if the breaker of the provider lets no message through',
      labels: ['provider'],
      read: () =>
        reports().flatMap(({ report }) =>
          Object.entries(report.providers).map(([provider, { state }]) => ({
            labels: { provider },
            value: state === 'open' ? 1 : 0,
          })),
        ),
    },
  ];
}
