// A new APP_SECRET loses no opt-out, and a secret that the database does not know starts no role and no command.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Config, loadConfig } from '../../src/config.ts';
import { createSendingDomains } from '../../src/delivery/content/dkim/domain-signers.ts';
import { unsubscribeLinks } from '../../src/features/unsubscribe/service.ts';
import { claimPort } from '../../src/local/machine/ports.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { roles } from '../../src/roles/names.ts';
import { createTestTenant, type TestBody, type TestTenant } from '../support/api.ts';
import { carillonCommand } from '../support/commands.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { insertVerifiedDomain } from '../support/domains.ts';

const FIRST = 'the first secret of at least thirty-two characters';
const SECOND = 'the second secret of at least thirty-two characters';
const STRANGE = 'a secret of another installation of Carillon';

type Secrets = [current: string, ...previous: string[]];

interface Role {
  run(config: Config): Promise<{ stop(): Promise<void> }>;
}

describe.each(['without DKIM', 'with DKIM'])('a change of APP_SECRET %s', (kind) => {
  let test: TestDatabase;
  let tenant: TestTenant;
  let port: number;
  let domainId: number | null = null;
  beforeAll(async () => {
    test = await createTestDatabase();
    port = await claimPort(0, 'PORT');
    tenant = await createTestTenant(test.database, 'Acme');
    if (kind === 'without DKIM') return;
    const keyring = createKeyring(FIRST);
    domainId = await insertVerifiedDomain(test.database, tenant, 'acme.test', { keyring });
  });
  afterAll(() => test.drop());

  const settings = ([current, ...previous]: Secrets) => ({
    DATABASE_URL: test.url,
    APP_SECRET: current,
    APP_SECRET_PREVIOUS: previous.join(','),
    EMAIL_PROVIDER_URL: 'capture:',
    TEMPORAL_ADDRESS: '127.0.0.1:9',
    PORT: String(port),
    OPS_PORT: '0',
    MAIL_PORT: '0',
    SUBMISSION_PORTS: '0',
    // Without it, the role for submission would require a certificate first.
    CARILLON_DEV: 'true',
    LOG_LEVEL: 'silent',
  });

  async function startRole(role: string, secrets: Secrets) {
    const module = (await import(`../../src/roles/${role}.ts`)) as Role;
    return module.run(loadConfig(settings(secrets)));
  }

  const request = async (method: string, path: string, body?: unknown): Promise<TestBody> => {
    const headers = { Authorization: `Bearer ${tenant.apiKey}`, 'Content-Type': 'application/json' };
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    return (text === '' ? {} : JSON.parse(text)) as TestBody;
  };

  const addContact = (email: string) => request('POST', '/v1/my/contacts', { email });

  /** Adds a contact, who clicks the unsubscribe link of a mail and is then deleted. */
  async function optOutAndDelete(email: string, [current]: Secrets): Promise<void> {
    const { accountId, brandId } = tenant;
    const contact = await addContact(email);
    const links = unsubscribeLinks(createKeyring(current), `http://127.0.0.1:${port}`, {
      accountId,
      brandId,
      source: { contactId: Number(contact.id) },
      address: email,
    });
    const clicked = await fetch(links?.url ?? '', { method: 'POST', body: 'List-Unsubscribe=One-Click' });
    expect(clicked.status).toBe(200);
    await request('DELETE', `/v1/my/contacts/${String(contact.id)}`);
  }

  async function whileRunning(secrets: Secrets, work: () => Promise<void>): Promise<void> {
    const api = await startRole('api', secrets);
    try {
      await work();
    } finally {
      await api.stop();
    }
  }

  it('keeps opt-outs of deleted contacts, and the keys that sign, after the previous secret is dropped', async () => {
    await whileRunning([FIRST], () => optOutAndDelete('ada@example.com', [FIRST]));
    await whileRunning([SECOND, FIRST], () => optOutAndDelete('bob@example.com', [SECOND]));
    expect(await carillonCommand(['secret', 'reseal'], settings([SECOND, FIRST]))).toMatchObject({ code: 0 });
    await whileRunning([SECOND], async () => {
      for (const email of ['ada@example.com', 'bob@example.com']) {
        expect(await addContact(email)).toMatchObject({ subscribed_email: false });
      }
      expect(await addContact('cyd@example.com')).toMatchObject({ subscribed_email: true });
    });
    if (domainId === null) return;
    const { signers } = await createSendingDomains(test.database.pool, createKeyring(SECOND)).find(domainId);
    expect(signers).toMatchObject([{ algorithm: 'rsa' }]);
  });

  const everything = async () => {
    const { rows } = await test.database.pool.query<{ kept: unknown }>(
      `select (select jsonb_agg(k order by purpose) from stored_keys k) as keys,
         (select count(*) from processes)::int as processes`,
    );
    return rows;
  };

  it.each(roles)('starts no %s under a secret that the database does not know', async (role) => {
    const before = await everything();
    for (const secret of [STRANGE, FIRST]) {
      await expect(startRole(role, [secret])).rejects.toThrow(
        /^APP_SECRET is not the secret of this database[^\n]*APP_SECRET_PREVIOUS$/,
      );
    }
    expect(await everything()).toEqual(before);
  });

  it.each([
    [['migrate']],
    [['account', 'create', '--name', 'Other', '--owner', 'owner@other.test']],
    [['provider', 'list']],
    [['secret', 'reseal']],
  ])('refuses the command %s, in one line', async (args) => {
    const before = await everything();
    const { code, output } = await carillonCommand(args, settings([STRANGE]));
    expect(output).toMatch(/^carillon: APP_SECRET is not the secret of this database[^\n]*\n$/);
    expect(code).toBe(1);
    expect(await everything()).toEqual(before);
  });
});
