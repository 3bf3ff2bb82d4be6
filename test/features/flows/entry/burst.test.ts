// Each event of a burst begins one run with one clock, and the burst does not delay later requests to the engine.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pino from 'pino';
import { startFlowEntries } from '../../../../src/features/flows/entry/loop.ts';
import { createWaker } from '../../../../src/platform/db/wake.ts';
import { appendToOutbox } from '../../../../src/platform/outbox/append.ts';
import { claimEntries } from '../../../../src/platform/outbox/claims.ts';
import { startTestApi, type TestApi } from '../../../support/api.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { countsOf, entriesOf, insertActiveFlow, runsOf } from '../../../support/flow-entries.ts';
import { testPulse } from '../../../support/pulse.ts';
import { until } from '../../../workflows/until.ts';

const EVENTS = 600;
const BATCH = 100;

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ env: { RATE_LIMIT_PER_KEY: '10000' } });
});
afterAll(() => api.close());

const pool = () => api.database.pool;

it('a burst of events begins all runs, and later requests to the engine overtake their starts', async () => {
  const log = pino({ level: 'silent' });
  const contacts = await insertContacts(pool(), api, EVENTS);
  const flowId = await insertActiveFlow(pool(), api, { event: 'ordered', goal: 'paid' });
  const waker = createWaker({ url: api.database.url });
  const loops = [1, 2].map(() => startFlowEntries({ pool: pool(), waker, pulse: testPulse(pool()), log }));
  try {
    const batches = Array.from({ length: EVENTS / BATCH }, (_, n) =>
      contacts.slice(n * BATCH, (n + 1) * BATCH),
    );
    const responses = await Promise.all(
      batches.map((ids) =>
        api.request('POST', '/v1/my/events/batch', {
          body: { events: ids.map((id) => ({ event: 'ordered', contact_id: id })) },
        }),
      ),
    );
    expect(responses.map(({ status }) => status)).toEqual(batches.map(() => 200));
    expect((await api.request('GET', '/v1/my/account')).status).toBe(200);
    await until(async () => (await runsOf(pool(), flowId)).length === EVENTS);
  } finally {
    await Promise.all(loops.map((loop) => loop.stop()));
    await waker.close();
  }
  expect(await entriesOf(pool(), flowId)).toEqual([]);
  expect(await countsOf(pool(), flowId)).toEqual({ entered: EVENTS });
  const runs = await runsOf(pool(), flowId);
  expect(new Set(runs.map((run) => run.contact_id))).toEqual(new Set(contacts));

  await appendToOutbox(pool(), { kind: 'start', workflowType: 'campaign', workflowId: 'campaign/1' });
  const first = await claimEntries(pool(), 1, 60);
  expect(first.map(({ entry }) => entry?.workflowId)).toEqual(['campaign/1']);
  const { rows: clocks } = await pool().query<{ workflow_id: string; runs: number }>(
    `select coalesce('flow-cohort/' || c.flow_id || '/' || c.n,
       concat_ws('/', 'flow-run', r.flow_id, r.contact_id, r.cause)) as workflow_id, count(*)::int as runs
     from flow_runs r left join flow_cohorts c on c.id = r.cohort_id where r.flow_id = $1 group by 1 order by 1`,
    [flowId],
  );
  const { rows: requested } = await pool().query<{ workflow_id: string }>(
    `select distinct workflow_id from outbox where workflow_id like 'flow%' order by workflow_id`,
  );
  expect(requested.map((row) => row.workflow_id)).toEqual(clocks.map((row) => row.workflow_id));
  expect(clocks.reduce((sum, { runs }) => sum + runs, 0)).toBe(EVENTS);
});
