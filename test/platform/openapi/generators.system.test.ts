// Four generators of clients read the OpenAPI description, and each client sends a message, a campaign and a flow.
import { expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { filledList, prepareSender } from '../../support/campaign-requests.ts';
import { type GeneratorName, openClientStage, type ClientStage } from '../../support/generators/stage.ts';
import { testsThatNeed } from '../../support/tests-that-need.ts';

const { describe, beforeAll, afterAll } = testsThatNeed('generators');

/** Far more than a busy machine needs. */
const TIMEOUT_MS = 600_000;

describe('the client of', () => {
  let api: TestApi;
  let stage: ClientStage;
  let listId: number;

  beforeAll(async () => {
    api = await startTestApi({ env: { PUBLIC_URL: 'http://127.0.0.1:9' } });
    await prepareSender(api, api, 'acme.test');
    ({ listId } = await filledList(api, api, 3));
    const document = await api.request('GET', '/openapi.json', { token: null });
    stage = await openClientStage(document.text);
  });
  afterAll(async () => {
    await stage.close();
    await api.close();
  });

  const names: GeneratorName[] = [
    'openapi-typescript',
    'hey-api',
    'openapi-python-client',
    'openapi-generator',
  ];

  it.each(names)(
    '%s sends a message, a campaign and a flow',
    async (name) => {
      const { message, campaign, flow } = await stage.run(name, {
        BASE_URL: api.baseUrl,
        API_KEY: api.apiKey,
        LIST_ID: String(listId),
      });
      const show = async (path: string) => (await api.request('GET', `/v1/my/${path}`)).body;
      expect(message).toEqual({ id: message.id, subject: 'Your receipt' });
      expect(await show(`messages/${message.id}`)).toMatchObject({
        status: 'queued',
        tags: { order: '1042' },
      });
      expect(campaign).toEqual({ id: campaign.id, status: 'active', section: 'text' });
      expect(await show(`campaigns/${campaign.id}`)).toMatchObject({
        status: 'active',
        data: { options: { throttle_per_minute: 600 }, team: 'growth' },
        trigger: { contact_list_id: listId },
      });
      expect(flow).toEqual({ id: flow.id, status: 'active', steps: ['email', 'wait', 'condition'] });
      const { steps } = await show(`flows/${flow.id}`);
      expect(steps).toMatchObject([
        { subject: 'Welcome' },
        { until: { time: '09:00', weekdays: [1, 2], timezone: 'contact' } },
        {
          filters: [{ name: 'data.plan', predicate: 'eq', value: 'pro' }],
          yes: [{ type: 'add_to_list', list_id: listId }],
          no: [
            {
              branches: [
                { weight: 50, steps: [{ reason: 'converted' }] },
                { weight: 50, steps: [] },
              ],
            },
          ],
        },
      ]);
    },
    TIMEOUT_MS,
  );
});
