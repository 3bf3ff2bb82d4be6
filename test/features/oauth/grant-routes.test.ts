// Users see and end their own grants, owners those of their account; passwords and removals end grants, too.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { findGrantCaller } from '../../../src/features/oauth/index.ts';
import { addMember } from '../../../src/features/users/service.ts';
import type { GrantSelection } from '../../../src/platform/auth/grant-caller.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { carillonCommand } from '../../support/commands.ts';
import { insertGrant } from '../../support/grants.ts';

const PATH = '/v1/my/mcp_grants';

let api: TestApi;
let ownChoice: GrantSelection;
let otherChoice: GrantSelection;
beforeAll(async () => {
  api = await startTestApi();
  ownChoice = { accountId: api.accountId, brandId: api.brandId };
  otherChoice = { accountId: api.other.accountId, brandId: api.other.brandId };
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.database.pool.query('delete from oauth_grants');
});

/** Lets an assistant act for a user. @returns the id of the grant, and what a call with its token may use */
async function grantOf(userId: number, choices: GrantSelection[] = [ownChoice]) {
  const { baseUrl, database } = api;
  const { grantId, accessToken } = await insertGrant(database.pool, { baseUrl, userId, choices });
  const usable = async () => {
    const caller = await findGrantCaller(database.pool, accessToken, `${baseUrl}/mcp`);
    return caller && caller.choices.map(({ accountId }) => accountId);
  };
  return { grantId, usable };
}

async function listed(token: string): Promise<unknown[]> {
  const { list } = await api.request('GET', PATH, { token });
  return list.map(({ id }) => id);
}

const end = (token: string, id: number) => api.request('DELETE', `${PATH}/${id}`, { token });

describe('GET /v1/my/mcp_grants', () => {
  it('refuses API keys', async () => {
    const { status, body } = await api.request('GET', PATH);
    expect([status, body.code]).toEqual([403, 'forbidden']);
  });

  it('shows owners the grants of all users for the account, and others their own', async () => {
    const member = await api.addUser('member');
    const admin = await api.addUser('admin');
    const ofOwner = await grantOf(api.userId);
    const ofMember = await grantOf(member.userId);
    await grantOf(api.other.userId, [otherChoice]);
    expect(await listed(api.userJwt)).toEqual([ofMember.grantId, ofOwner.grantId]);
    expect(await listed(member.userJwt)).toEqual([ofMember.grantId]);
    expect(await listed(admin.userJwt)).toEqual([]);
  });

  it('does not show which other accounts a user has granted', async () => {
    const member = await api.addUser('member');
    await grantOf(member.userId, [ownChoice, otherChoice]);
    const { list } = await api.request('GET', PATH, { token: api.userJwt });
    expect(list).toEqual([
      {
        id: expect.any(Number),
        user_id: member.userId,
        user_email: member.email,
        client_name: 'Test assistant',
        client_host: null,
        redirect_host: '127.0.0.1',
        scopes: expect.arrayContaining(['mcp:read', 'mcp:send']),
        brand_ids: [api.brandId],
        created_at: expect.any(String),
        last_used_at: null,
        expires_at: expect.any(String),
      },
    ]);
  });
});

describe('DELETE /v1/my/mcp_grants/:id', () => {
  it('ends a user’s own grant for all accounts', async () => {
    const grant = await grantOf(api.userId, [ownChoice, otherChoice]);
    const { status, body } = await end(api.userJwt, grant.grantId);
    expect([status, body.id]).toEqual([200, grant.grantId]);
    expect(await grant.usable()).toBeNull();
    expect(await listed(api.userJwt)).toEqual([]);
    expect((await end(api.userJwt, grant.grantId)).status).toBe(404);
  });

  it('does not let members and admins end the grants of others', async () => {
    const member = await api.addUser('member');
    const admin = await api.addUser('admin');
    const grant = await grantOf(member.userId);
    for (const { userJwt } of [admin, await api.addUser('member')]) {
      expect((await end(userJwt, grant.grantId)).status).toBe(404);
    }
    expect(await grant.usable()).toEqual([api.accountId]);
  });

  it('lets an owner take only the own account out of the grant of another user', async () => {
    const member = await api.addUser('member');
    const { accountId, email } = { accountId: api.other.accountId, email: member.email };
    await addMember(api.database.pool, { accountId, email, role: 'member' });
    const grant = await grantOf(member.userId, [ownChoice, otherChoice]);
    expect((await end(api.userJwt, grant.grantId)).status).toBe(200);
    expect(await grant.usable()).toEqual([api.other.accountId]);
    expect((await end(api.other.userJwt, grant.grantId)).status).toBe(200);
    expect(await grant.usable()).toBeNull();
  });
});

describe('a grant ends', () => {
  it('for an account from which its user is removed, even if the user joins again', async () => {
    const member = await api.addUser('member');
    const grant = await grantOf(member.userId);
    await api.request('DELETE', `/v1/my/users/${member.userId}`, { token: api.userJwt });
    await addMember(api.database.pool, { accountId: api.accountId, email: member.email, role: 'member' });
    expect(await grant.usable()).toBeNull();
  });

  it('when its user gets a new password', async () => {
    const member = await api.addUser('member');
    const grant = await grantOf(member.userId);
    const ofAnother = await grantOf(api.userId);
    const { output } = await command('user', 'reset-link', member.email);
    const token = /\/console\/reset\/(\S+)/.exec(output)?.[1] ?? '';
    const body = { password: 'another long password' };
    expect((await api.request('POST', `/v1/password_resets/${token}`, { token: null, body })).status).toBe(
      200,
    );
    expect(await grant.usable()).toBeNull();
    expect(await ofAnother.usable()).toEqual([api.accountId]);
  });
});

const command = (...args: string[]) =>
  carillonCommand(args, { DATABASE_URL: api.database.url, APP_SECRET: api.config.APP_SECRET ?? '' });

describe('carillon oauth', () => {
  it('lists grants by user, account and client', async () => {
    const member = await api.addUser('member');
    const { grantId } = await grantOf(member.userId);
    const { grantId: another } = await grantOf(api.other.userId, [otherChoice]);
    const { output } = await command('oauth', 'grants', '--user', member.email);
    expect(output).toBe(
      `${grantId}  ${member.email}  Test assistant (test-assistant)  account ${api.accountId}  ` +
        'mcp:read mcp:write mcp:send mcp:inbox\n',
    );
    const ofAccount = await command('--json', 'oauth', 'grants', '--account', String(api.other.accountId));
    expect(JSON.parse(ofAccount.output)).toEqual([expect.objectContaining({ id: another })]);
    expect((await command('oauth', 'grants', '--client', 'unknown')).output).toBe('no grants\n');
  });

  it('lists clients without characters that steer the terminal', async () => {
    await api.database.pool.query('insert into oauth_clients (id, metadata) values ($1, $2)', [
      'abc',
      { client_name: 'Evil\u001b[2J', redirect_uris: ['https://client.test/callback'] },
    ]);
    const { output } = await command('oauth', 'clients');
    expect(output).toBe('abc  Evil\ufffd[2J  never used  https://client.test/callback\n');
  });

  it('ends one grant, or those of a user, and records it in the audit log', async () => {
    const member = await api.addUser('member');
    const [one, two] = [await grantOf(member.userId), await grantOf(member.userId)];
    expect(await command('oauth', 'revoke', String(one.grantId))).toEqual({
      code: 0,
      output: '1 grant ended\n',
    });
    expect([await one.usable(), await two.usable()]).toEqual([null, [api.accountId]]);
    expect((await command('oauth', 'revoke', String(one.grantId))).code).toBe(1);
    await command('oauth', 'revoke', '--user', member.email);
    expect(await two.usable()).toBeNull();
    const { list } = await api.request('GET', '/v1/my/audit?action=oauth%20revoke', { token: api.userJwt });
    expect(list.map(({ resource_id: id }) => id)).toEqual([String(two.grantId), String(one.grantId)]);
  });

  it('asks for exactly one of a grant, a user and a client', async () => {
    for (const args of [[], ['1', '--client', 'abc']]) {
      const { code, output } = await command('oauth', 'revoke', ...args);
      expect([code, output]).toEqual([1, expect.stringContaining('give the id of a grant')]);
    }
  });
});
