// The API conforms to its OpenAPI description: generated requests find no undescribed response.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { sandboxAddress } from '../../../src/delivery/terms/sender-identity.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { startDnsServer, type TestDnsServer } from '../../support/dns/server.ts';
import { findSchemathesis, runSchemathesis } from '../../support/schemathesis/program.ts';
import { testsThatNeed } from '../../support/tests-that-need.ts';
import { toolCache } from '../../support/tools.ts';

const { describe, beforeAll, afterAll } = testsThatNeed('schemathesis');

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
/** Cases for each operation in the phase of fuzzing. That of coverage has about a hundred for each; see `hooks.py`. */
const MAX_EXAMPLES = 10;
/** Far more than a busy machine needs. */
const TIMEOUT_MS = 1_800_000;

describe('the OpenAPI description', () => {
  let api: TestApi;
  let dns: TestDnsServer;
  let home: string;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'carillon-home-'));
    dns = await startDnsServer({ 'hooks.example.test': { A: ['93.184.216.34'] } });
    api = await startTestApi({
      env: { CARILLON_HOME: home, DNS_SERVERS: dns.address, SANDBOX_MONTHLY_CAP: '1000000' },
    });
  });
  afterAll(async () => {
    await api.close();
    dns.close();
    await rm(home, { recursive: true, force: true });
  });

  it(
    'accepts and refuses the same requests as the API, and describes every response',
    async () => {
      const program = await findSchemathesis(await toolCache(), () => undefined);
      const rawBody = new FormData();
      rawBody.append('file', new File([new Uint8Array(PNG)], 'logo.png'));
      const image = String((await api.request('POST', '/v1/my/uploads', { rawBody })).body.signed_id);
      // The image must last: a DELETE of an upload in use is refused.
      await api.database.pool.query(
        `insert into brands (account_id, logo) select account_id, 'upload:' || id from uploads`,
      );
      const existing = {
        url: api.baseUrl,
        key: api.apiKey,
        brand: String(api.brandId),
        sender: sandboxAddress(api.accountId, api.config.MAIL_DOMAIN),
        image,
        webhook_url: 'https://hooks.example.test/carillon',
      };
      // Schemathesis waits ten seconds for the description, which is written at the first request for it.
      expect((await fetch(`${api.baseUrl}/openapi.json`)).ok).toBe(true);
      const { code, output } = await runSchemathesis(program, existing, MAX_EXAMPLES);
      expect({ code, output: code === 0 ? '' : output }).toEqual({ code: 0, output: '' });
      // All but those that are not described: the description itself, and routes whose requests others define.
      const described = api.routes.filter(({ opaque }) => !opaque).length - 1;
      expect(output).toMatch(new RegExp(`Tested: ${described}\\b`));
    },
    TIMEOUT_MS,
  );
});
