// A campaign in local time begins earlier, and goes to all at once if it is sent before its time.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';
import {
  act,
  fieldsOf,
  filledList,
  prepareSender,
  readyCampaign,
  warmUp,
} from '../../support/campaign-requests.ts';

let api: TestApi;
let listId: number;
beforeAll(async () => {
  api = await startTestApi({ env: { PUBLIC_URL: 'https://mail.acme.test' } });
  await prepareSender(api, api, 'acme.test');
  ({ listId } = await filledList(api, api, 3));
  await warmUp(api, listId);
}, 240_000);
afterAll(() => api.close());

const options = { data: { options: { send_at_local_time: true } } };
const tomorrow = () => new Date(Date.now() + 40 * 3_600_000);

async function beginOf(id: number): Promise<Date | undefined> {
  const { rows } = await api.database.pool.query<{ at: Date }>(
    'select begin_at as at from campaigns where id = $1',
    [id],
  );
  return rows[0]?.at;
}

it('begins 14 hours before the time', async () => {
  const at = tomorrow();
  const id = await readyCampaign(api, listId, { scheduled_at: at.toISOString(), ...options });
  await act(api, id, 'send');
  expect(await beginOf(id)).toEqual(new Date(at.getTime() - 14 * 3_600_000));
});

it('begins at once if a client sends it while it waits', async () => {
  const id = await readyCampaign(api, listId, { scheduled_at: tomorrow().toISOString(), ...options });
  await act(api, id, 'send');
  const { status, body } = await act(api, id, 'send');
  expect([status, body.scheduled_at]).toEqual([200, null]);
  expect(Number(await beginOf(id))).toBeLessThanOrEqual(Date.now());
});

it('needs a time if it is a draft', async () => {
  const id = await readyCampaign(api, listId, options);
  expect(fieldsOf(await act(api, id, 'send'))).toEqual(['scheduled_at']);
});
