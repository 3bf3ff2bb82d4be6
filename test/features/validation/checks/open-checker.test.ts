// Validations reach mail servers in a private network only if VALIDATION_PROBE_ALLOW names it, whatever webhooks may reach.
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { loadConfig } from '../../../../src/config.ts';
import type { AddressChecker } from '../../../../src/features/validation/checks/address-checker.ts';
import { openAddressChecker } from '../../../../src/features/validation/checks/open-checker.ts';
import { createResolver } from '../../../../src/platform/dns/resolver.ts';
import { createEgress } from '../../../../src/platform/egress/client.ts';
import { startDnsServer, type TestDnsServer } from '../../../support/dns/server.ts';

/** An address of this machine on which nothing listens. */
const PRIVATE = '127.77.66.55';

let dns: TestDnsServer;
let checker: AddressChecker;
beforeEach(async () => {
  dns = await startDnsServer({
    'acme.com': { MX: [{ exchange: 'mx.acme.com', preference: 10 }] },
    'mx.acme.com': { A: [PRIVATE] },
  });
});
afterEach(() => {
  checker.close();
  dns.close();
});

async function reasonWith(settings: Record<string, string>): Promise<string> {
  const config = loadConfig({ VALIDATION_PROBE_NAME: 'probe.carillon.test', ...settings });
  const resolver = createResolver([dns.address]);
  const egress = createEgress({ resolver, allow: config.EGRESS_ALLOW, userAgent: 'test' });
  checker = openAddressChecker({ config, resolver, egress });
  const candidates = [{ id: '1', email: 'ann@acme.com' }];
  let reason = '';
  for await (const each of checker.check(candidates, { accountId: '1', operationId: '1' }))
    ({ reason } = each);
  await egress.close();
  return reason;
}

it('ignores a private mail server that only EGRESS_ALLOW permits, because that setting is for webhooks', async () => {
  expect(await reasonWith({ EGRESS_ALLOW: '127.0.0.0/8' })).toBe('no_mail_server');
});

it('asks a private mail server that VALIDATION_PROBE_ALLOW permits', async () => {
  expect(await reasonWith({ VALIDATION_PROBE_ALLOW: '127.0.0.0/8' })).toBe('timeout');
});
