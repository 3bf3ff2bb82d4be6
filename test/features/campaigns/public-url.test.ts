// Without PUBLIC_URL, a campaign refuses to send email that has no working unsubscribe link.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { act, fieldsOf, filledList, prepareSender, readyCampaign } from '../../support/campaign-requests.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

it('refuses to send email without a working unsubscribe link if PUBLIC_URL is missing', async () => {
  await prepareSender(api, api, 'acme.test');
  const { listId } = await filledList(api, api, 1);
  // The first content takes long to compile, on a busy machine too long.
  let response = await act(api, await readyCampaign(api, listId), 'send');
  while (response.status === 503) response = await act(api, await readyCampaign(api, listId), 'send');
  expect([response.status, fieldsOf(response)]).toEqual([422, ['unsubscribe_url']]);
});
