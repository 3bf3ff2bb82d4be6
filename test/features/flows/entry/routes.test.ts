// POST /flows/{id}/enter lets each contact of the brand enter once, and names the others.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { judgePage } from '../../../../src/features/flows/entry/pages.ts';
import { startTestApi, type TestApi } from '../../../support/api.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { countsOf, entriesOf, insertActiveFlow, runsOf } from '../../../support/flow-entries.ts';

let api: TestApi;
let flowId: number;
let contacts: number[];
let prefix = 0;

beforeAll(async () => {
  api = await startTestApi({ env: { RATE_LIMIT_PER_KEY: '10000' } });
});
afterAll(() => api.close());
beforeEach(async () => {
  flowId = await insertActiveFlow(pool(), api, {});
  contacts = await insertContacts(pool(), api, 2, `r${(prefix += 1)}-`);
});

const pool = () => api.database.pool;
const enter = (body: unknown, headers: Record<string, string> = {}, token = api.apiKey) =>
  api.request('POST', `/v1/my/flows/${flowId}/enter`, { body, headers, token });

describe('POST /flows/{id}/enter', () => {
  it('refuses flows that are not active, and unknown ones', async () => {
    for (const state of [
      ...[{ status: 'draft' }, { status: 'paused' }, { status: 'archived' }, { approval: 'pending' }],
    ] as const) {
      flowId = await insertActiveFlow(pool(), api, state);
      const { status, body } = await enter({ contact_ids: contacts });
      expect([status, body.code]).toEqual([422, 'invalid_transition']);
      expect(await entriesOf(pool(), flowId)).toEqual([]);
    }
    flowId = await insertActiveFlow(pool(), api.other, {});
    expect((await enter({ contact_ids: contacts })).status).toBe(404);
  });

  it.each([
    [{}],
    [{ contact_ids: [] }],
    [{ contact_ids: ['a'] }],
    [{ contact_ids: Array.from({ length: 1_001 }, (_, n) => n + 1) }],
  ])('refuses %j', async (body) => {
    expect((await enter(body)).status).toBe(422);
  });

  it('lets each contact of the brand enter once, and names the others', async () => {
    const [strange] = await insertContacts(pool(), api.other, 1, `x${prefix}-`);
    const [one, two] = contacts;
    const { status, body } = await enter({ contact_ids: [two, one, two, strange, 999_999_999] });
    expect(status).toBe(200);
    expect(body).toEqual({
      results: [
        { contact_id: two, status: 'accepted' },
        { contact_id: one, status: 'accepted' },
        { contact_id: strange, status: 'not_found' },
        { contact_id: 999_999_999, status: 'not_found' },
      ],
    });
    const entries = await entriesOf(pool(), flowId);
    expect(entries.map((entry) => entry.contact_id)).toEqual([one, two]);
    expect(entries[0]?.cause).toMatch(/^m\d+$/);
  });

  it('begins test runs for a test key', async () => {
    await enter({ contact_ids: contacts }, {}, api.testApiKey);
    expect((await entriesOf(pool(), flowId)).map(({ test }) => test)).toEqual([true, true]);
  });

  it('lets no contact enter twice for 32 concurrent requests with one key, or for duplicates', async () => {
    flowId = await insertActiveFlow(pool(), api, { reentry: 'every_time' });
    const responses = await Promise.all(
      Array.from({ length: 32 }, () =>
        enter({ contact_ids: [...contacts, ...contacts] }, { 'Idempotency-Key': `enter-${flowId}` }),
      ),
    );
    expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    const replays = responses.filter(({ headers }) => headers.get('Idempotent-Replayed') === 'true');
    expect(replays).toHaveLength(31);
    const deps = { pool: pool(), log: pino({ level: 'silent' }) };
    await Promise.all(Array.from({ length: 4 }, () => judgePage(deps, flowId)));
    expect((await runsOf(pool(), flowId)).map((run) => run.contact_id)).toEqual(contacts);
    expect(await countsOf(pool(), flowId)).toEqual({ entered: 2 });
  });
});
