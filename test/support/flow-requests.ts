import type { TestApi, TestResponse, TestTenant } from './api.ts';

export const FLOWS = '/v1/my/flows';

/** A step in the form that a client writes. */
export type TestStep = Record<string, unknown>;

export const emailStep: TestStep = { type: 'email', subject: 'Hi {{ contact.first_name }}', body: 'Welcome' };

export const createFlow = (api: TestApi, body: object, token = api.apiKey): Promise<TestResponse> =>
  api.request('POST', FLOWS, { body: { name: 'Welcome', ...body }, token });

export const changeFlow = (api: TestApi, id: number, body: object): Promise<TestResponse> =>
  api.request('PATCH', `${FLOWS}/${id}`, { body });

export const showFlow = (api: TestApi, id: number): Promise<TestResponse> =>
  api.request('GET', `${FLOWS}/${id}`);

export const actOnFlow = (api: TestApi, id: number, action: string, body?: unknown): Promise<TestResponse> =>
  api.request('POST', `${FLOWS}/${id}/${action}`, body === undefined ? {} : { body });

/**
 * Creates a flow. Throws if it is refused.
 * @returns its id
 */
export async function flowOf(api: TestApi, body: object = {}): Promise<number> {
  const { status, body: flow, text } = await createFlow(api, { trigger: { event: 'signed_up' }, ...body });
  if (status !== 201) throw new Error(text);
  return Number(flow.id);
}

/** Creates an active flow. @returns its id */
export async function activeFlow(api: TestApi, body: object = {}): Promise<number> {
  const id = await flowOf(api, { steps: [emailStep], ...body });
  const { status, text } = await actOnFlow(api, id, 'activate');
  if (status !== 200) throw new Error(text);
  return id;
}

/** Tries to activate flows until one is active: compiling the first content takes long, on a busy machine too long. */
export async function warmUpFlows(api: TestApi): Promise<void> {
  for (let tries = 0; tries < 20; tries += 1) {
    const id = await flowOf(api, { name: 'Warm up', steps: [emailStep] });
    if ((await actOnFlow(api, id, 'activate')).status === 200) return;
  }
  throw new Error('no flow can be activated');
}

/** Creates a list and a segment of a tenant. */
export async function listAndSegment(
  { database: { pool } }: TestApi,
  { accountId, brandId }: Pick<TestTenant, 'accountId' | 'brandId'>,
): Promise<{ listId: number; segmentId: number }> {
  const lists = await pool.query<{ id: number }>(
    `insert into lists (account_id, brand_id, name) values ($1, $2, 'Everyone') returning id`,
    [accountId, brandId],
  );
  const segments = await pool.query<{ id: number }>(
    `insert into segments (account_id, brand_id, name, filters) values ($1, $2, 'Pro', '[]') returning id`,
    [accountId, brandId],
  );
  return { listId: lists.rows[0]?.id ?? 0, segmentId: segments.rows[0]?.id ?? 0 };
}

/** A filter of segments and conditions. */
export const proPlan = { name: 'data.plan', predicate: 'eq', value: 'pro' };
/** A step of each type that needs nothing else of the brand. */
export const everyStep = [
  { type: 'email', subject: 'Hi', body: 'Hi' },
  { type: 'sms', body: 'Hi' },
  { type: 'wait', until: { time: '09:00' } },
  {
    type: 'condition',
    filters: [proPlan],
    yes: [{ type: 'exit' }],
  },
  { type: 'wait_for_event', event_name: 'bought', duration: 60, include_since: 'entry' },
  { type: 'event', event_name: 'welcomed', forward_event_data: true, data: {} },
  { type: 'update_contact', data: { stage: 'active' } },
  { type: 'webhook', url: 'https://example.com/hook', headers: { a: 'b' }, body: [1] },
  { type: 'split', branches: [{ weight: 50, steps: [{ type: 'wait', duration: 1 }] }, { weight: 50 }] },
  { type: 'exit', reason: 'done' },
];
