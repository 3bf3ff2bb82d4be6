// People join an account, protect their sign-in, and make keys at the console, in a real browser.
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { createReset } from '../../src/features/users/reset-links.ts';
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
    await press(page, 'Create');
    const shown = await dialogOf(page).locator('pre').first().innerText();
    const token = shown.replace('export CARILLON_API_KEY=', '');
    await press(page, 'I have saved it');
    const row = page.getByRole('row', { name: /^Shop/ });
    await expect(row.innerText()).resolves.not.toContain(token);
    await expect(stage().request('GET', '/v1/my/messages', { token })).resolves.toMatchObject({
      status: 200,
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
    await page.getByLabel('Code of the app').fill(codeNow(secretOfUri(uri ?? '')));
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

  it('sets a new password by a link once, which ends all sessions', async () => {
    stage().allow(/status of (401|404)/);
    const { email, userId } = await stage().addUser('member');
    const signedIn = await stage().signIn({ email });
    const path = `/console/reset/${await createReset(stage().database.pool, userId)}`;
    const page = await stage().newPage();
    await page.goto(path);
    await page.getByText(`For ${email}.`).waitFor();
    await page.getByLabel('New password').fill('another good password');
    await press(page, 'Set the password');
    await page.getByText('The password is set').waitFor();
    await page.goto(path);
    await page.getByText('This link does not work').waitFor();
    await signedIn.reload();
    await signedIn.waitForURL(/sign-in/);
    await submitLogin(signedIn, email, 'another good password');
    await signedIn.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
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
    const question = page.getByRole('dialog', { name: 'Give your password again' });
    await question.getByLabel('Password').fill('not the password');
    await question.getByRole('button', { name: 'Continue' }).click();
    await question.getByRole('alert').waitFor();
    await question.getByLabel('Password').fill(TEST_PASSWORD);
    await question.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('heading', { name: 'Your new key' }).waitFor();
  });
});
