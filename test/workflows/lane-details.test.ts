// The details of a lane say what waits, and when the first scheduled message is to be sent.
import { expect, it } from '@jest/globals';
import type { LaneReport } from '../../workflows/lanes/contract.ts';
import { describeLane } from '../../workflows/lanes/details.ts';

const report: LaneReport = {
  ...{ host: 'mail1', pid: 7, processId: 9, mode: 'running', ratePerSecond: 0, handledTotal: 0, inFlight: 0 },
  ...{ backlog: {}, providers: {} },
};

const reportedAt = '2026-03-01T23:30:00.000Z';

it.each<[string, Partial<LaneReport>]>([
  ['none', {}],
  ['transactional 12, flow 3', { backlog: { transactional: 12, flow: 3 } }],
  [
    'transactional 12, 3,120 scheduled, next 23:45',
    { backlog: { scheduled: 3_120, transactional: 12 }, nextScheduledAt: '2026-03-01T23:45:10.000Z' },
  ],
  [
    '1,000,000 scheduled, next 2026-03-02 09:00',
    { backlog: { scheduled: 1_000_000 }, nextScheduledAt: '2026-03-02T09:00:00.000Z' },
  ],
])('says %s', (words, given) => {
  const text = describeLane({ kind: 'send', n: 1 }, 'running', { ...report, ...given }, reportedAt);
  expect(text.split('\n')).toContain(`- backlog: ${words}`);
});
