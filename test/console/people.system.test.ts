// People join an account, protect their sign-in, and make keys at the console, in a real browser.
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { TEST_PASSWORD } from '../support/api.ts';
import { checkAccessibility, submitLogin, useConsole } from '../support/console.ts';
import { codeNow, secretOfUri } from '../support/second-factor.ts';

const stage = useConsole();

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const dialogOf = (page: Page) => page.getByRole('dialog');

describe('the pages of people', () => {
  it('makes a new user of the person who opens the link of an invitation', async () => {
    const email = `new-${randomBytes(4).toString('hex')}@example.com`;
    const owner = await stage().signIn({ at: '/team' });
    await checkAccessibility(owner);
    await press(owner, 'Invite someone');
    await owner.getByLabel('Email address').fill(email);
    await press(owner, 'Invite');
    const link = await dialogOf(owner).locator('pre').innerText();
    await press(owner, 'Done');
    await owner.getByRole('cell', { name: email, exact: true }).waitFor();

    const guest = await stage().newPage();
    await guest.goto(new URL(link).pathname);
    await guest.getByLabel('Password').fill('a password of the guest');
    await checkAccessibility(guest);
    await press(guest, 'Accept the invitation');
    await guest.getByRole('link', { name: 'Sign in' }).click();
    await submitLogin(guest, email, 'a password of the guest');
    await guest.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await expect(guest.getByRole('link', { name: 'Team' }).count()).resolves.toBe(0);
    await expect(guest.getByRole('link', { name: 'API keys' }).count()).resolves.toBe(0);
  });

  it('lets a user join another account by an invitation on every page', async () => {
    const { email } = await stage().addUser('member');
    const { other, request } = stage();
    const invited = await request('POST', '/v1/my/invitations', { token: other.userJwt, body: { email } });
    expect(invited.status).toBe(201);
    const page = await stage().signIn({ email });
    await press(page, 'Accept');
    await page.getByText(/^You have joined/).waitFor();
    await page.getByLabel('Brand').selectOption(String(other.brandId));
    await page.waitForURL(`**/console/brands/${other.brandId}`);
  });

  it('shows a new key once, with which programs use the API until it is revoked', async () => {
    const page = await stage().signIn({ at: '/api-keys' });
    await checkAccessibility(page);
    await press(page, 'Create a key');
    await page.getByLabel('Name').fill('Shop');
    await page.getByLabel('Kind').selectOption('send');
    await press(page, 'Create');
    const shown = await dialogOf(page).locator('pre').first().innerText();
    const token = shown.replace('export CARILLON_API_KEY=', '');
    await press(page, 'I have saved it');
    const row = page.getByRole('row', { name: /^Shop/ });
    const text = await row.innerText();
    expect(text).toContain('send-only');
    expect(text).not.toContain(token);
    await expect(stage().request('GET', '/v1/my/messages', { token })).resolves.toMatchObject({
      status: 200,
    });
    await expect(stage().request('GET', '/v1/my/contacts', { token })).resolves.toMatchObject({
      status: 403,
    });

    await row.getByRole('button', { name: 'Revoke' }).click();
    await dialogOf(page).getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('Key revoked.').waitFor();
    await expect(stage().request('GET', '/v1/my/messages', { token })).resolves.toMatchObject({
      status: 401,
    });
  });

  it('turns the second factor on, and signs in by a recovery code', async () => {
    stage().allow(/status of 401/);
    const { email } = await stage().addUser('member');
    const page = await stage().signIn({ email, at: '/profile' });
    await checkAccessibility(page);
    await press(page, 'Turn it on');
    const uri = await page.getByRole('link', { name: 'open the app' }).getAttribute('href');
    await page.getByLabel('Code from the app').fill(codeNow(secretOfUri(uri ?? '')));
    await dialogOf(page).getByRole('button', { name: 'Turn it on' }).click();
    await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor();
    const codes = (await dialogOf(page).locator('pre').innerText()).split('\n');
    expect(codes).toHaveLength(10);
    await press(page, 'I have saved them');
    await page.getByText('10 recovery codes left').waitFor();

    const elsewhere = await stage().newPage();
    await elsewhere.goto('/console/sign-in');
    await submitLogin(elsewhere, email);
    await elsewhere.getByLabel('Code').fill(codes[0] ?? '');
    await press(elsewhere, 'Sign in');
    await elsewhere.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  });

  it('asks for the password before a change after 15 minutes, and stays signed in after a wrong one', async () => {
    stage().allow(/status of (401|403)/);
    const { email, userId } = await stage().addUser('owner');
    const page = await stage().signIn({ email, at: '/api-keys' });
    await stage().database.pool.query(
      "update sessions set confirmed_at = confirmed_at - interval '16 minutes' where user_id = $1",
      [userId],
    );
    await press(page, 'Create a key');
    await page.getByLabel('Name').fill('Late');
    await press(page, 'Create');
    const question = page.getByRole('dialog', { name: 'Enter your password again' });
    await question.getByLabel('Password').fill('not the password');
    await question.getByRole('button', { name: 'Continue' }).click();
    await question.getByRole('alert').waitFor();
    await question.getByLabel('Password').fill(TEST_PASSWORD);
    await question.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('heading', { name: 'Your new key' }).waitFor();
  });
});

describe('the team', () => {
  it('gets other roles from its owner, who removes a user from the account, too', async () => {
    const { email, userId } = await stage().addUser('member');
    const theirs = await stage().signIn({ email });
    const page = await stage().signIn({ at: '/team' });
    await page.getByLabel(`Role of ${email}`).selectOption('admin');
    await page.getByText(`${email} is now admin.`).waitFor();
    await theirs.reload();
    await theirs.getByRole('link', { name: 'Team' }).click();
    await theirs.getByRole('cell', { name: 'owner', exact: true }).first().waitFor();
    // Whatever the page shows: an admin may not change an owner.
    await expect(theirs.getByLabel(`Role of ${stage().email}`).count()).resolves.toBe(0);

    const row = page.getByRole('row').filter({ hasText: email });
    await row.getByRole('button', { name: 'Remove' }).click();
    await dialogOf(page).getByRole('button', { name: 'Remove' }).click();
    await page.getByText(`${email} is no longer in the account.`).waitFor();
    await row.waitFor({ state: 'detached' });
    const { list } = await stage().request('GET', '/v1/my/users', { token: stage().userJwt });
    expect(list.map(({ id }) => id)).not.toContain(userId);
    await theirs.reload();
    await theirs.getByText('You belong to no account.').waitFor();
  });

  it('is left by a user, who keeps the other accounts', async () => {
    const { email } = await stage().addUser('member');
    const { other, request } = stage();
    const { status } = await request('POST', '/v1/my/invitations', { token: other.userJwt, body: { email } });
    expect(status).toBe(201);
    const page = await stage().signIn({ email, at: '/profile' });
    await press(page, 'Accept');
    await page.getByText(/^You have joined/).waitFor();
    await press(page, 'Leave the account');
    await press(page, 'Leave');
    await page.getByText(/^You have left Acme/).waitFor();
    await page.waitForURL(`**/console/brands/${other.brandId}`);
    await page.getByLabel('Brand').locator('option').nth(1).waitFor({ state: 'detached' });
  });
});
