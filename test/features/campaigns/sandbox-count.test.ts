// A send counts its audience only if its sender is the sandbox, and in a statement of its own.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { CheckDeps } from '../../../src/features/campaigns/checks.ts';
import { prepareRequest } from '../../../src/features/campaigns/service.ts';
import { createBrandOf } from '../../../src/features/templates/service.ts';
import type { Queryable } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { content, filledList, prepareSender } from '../../support/campaign-requests.ts';
import { TEST_LIMITS } from '../../support/sending.ts';
import { testKeyring } from '../../support/webhooks.ts';

let api: TestApi;
let listId: number;
/** The statements of heavy reads. */
let texts: string[] = [];
beforeAll(async () => {
  api = await startTestApi();
  await prepareSender(api, api, 'acme.test');
  await api.database.pool.query('update accounts set sandbox_monthly_cap = 2 where id = $1', [api.accountId]);
  ({ listId } = await filledList(api, api, 3));
});
afterAll(() => api.close());
beforeEach(() => void (texts = []));

function prepare(fromEmail?: string) {
  const { pool } = api.database;
  const observed: Queryable = {
    query(...statement) {
      texts.push(String(statement[0]));
      return pool.query(...statement);
    },
  };
  const deps: Pick<CheckDeps, 'pool' | 'heavyReads' | 'limits'> & {
    templates: Pick<CheckDeps['templates'], 'brandOf'>;
    sender: Pick<CheckDeps['sender'], 'mailDomain'>;
  } = {
    pool,
    heavyReads: { run: (_read, work) => work(observed), close: () => Promise.resolve() },
    limits: TEST_LIMITS,
    templates: { brandOf: createBrandOf(pool, testKeyring, null) },
    sender: { mailDomain: 'mail.test' },
  };
  const tenant = { accountId: api.accountId, brandId: api.brandId };
  return prepareRequest(deps as CheckDeps, tenant as Parameters<typeof prepareRequest>[1], null, {
    status: 'active',
    trigger_attributes: { contact_list_id: listId },
    template_attributes: { ...content, ...(fromEmail === undefined ? {} : { from_email: fromEmail }) },
  });
}

const counts = () => texts.filter((text) => text.includes('count(*)'));

it('does not count for a sender at a verified domain', async () => {
  expect(await prepare()).toMatchObject({ isEmpty: false, isOverSandbox: false });
  expect(await prepare('me@acme.test')).toMatchObject({ isOverSandbox: false });
  expect(counts()).toEqual([]);
});

it('counts for the sandbox, separately from the check for any contact', async () => {
  expect(await prepare(`sandbox-${api.accountId}@mail.test`)).toMatchObject({
    ...{ isEmpty: false, isOverSandbox: true },
  });
  expect(counts()).toHaveLength(1);
  expect(texts).toHaveLength(2);
});
