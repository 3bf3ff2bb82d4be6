// A user signs in at the console in a real browser, with and without a second factor.
import { describe, expect, it } from '@jest/globals';
import { checkAccessibility, submitLogin, useConsole } from '../support/console.ts';
import { eventually } from '../support/eventually.ts';
import { codeNow, secretOfUri } from '../support/second-factor.ts';

const stage = useConsole();

/** Turns the second factor of a user on. @returns the secret of the app */
async function turnOnSecondFactor(token: string): Promise<Buffer> {
  const { request } = stage();
  const begun = await request('POST', '/v1/my/user/second_factor', { token });
  const secret = secretOfUri(String(begun.body.uri));
  const otp = codeNow(secret);
  const { status } = await request('POST', '/v1/my/user/second_factor/confirm', { token, body: { otp } });
  expect(status).toBe(200);
  return secret;
}

describe('the page for signing in', () => {
  it('leads to the page that was asked for', async () => {
    const { brandId } = stage();
    // What asks who is signed in.
    stage().allow(/status of 401/);
    const page = await stage().newPage();
    await page.goto(`/console/brands/${brandId}`);
    await page.waitForURL(/\/console\/sign-in\?return_to=/);
    await checkAccessibility(page);
    await submitLogin(page, stage().email);
    await page.waitForURL(`**/console/brands/${brandId}`);
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  });

  it('shows what the API says of a wrong password', async () => {
    stage().allow(/status of 401/);
    const page = await stage().newPage();
    await page.goto('/console/sign-in');
    await submitLogin(page, stage().email, 'not the password');
    const { body } = await stage().request('POST', '/v1/login', {
      token: null,
      body: { user: { email: stage().email, password: 'not the password' } },
    });
    await page.getByText(String(body.message)).waitFor();
    expect(page.url()).toContain('/sign-in');
  });

  it('asks for the code of the second factor, and rejects a wrong one', async () => {
    stage().allow(/status of 401/);
    const { email, userJwt } = await stage().addUser('admin');
    const secret = await turnOnSecondFactor(userJwt);
    const page = await stage().newPage();
    await page.goto('/console/sign-in');
    await submitLogin(page, email);
    const code = page.getByLabel('Code');
    const right = codeNow(secret, 1);
    await code.fill(right === '000000' ? '000001' : '000000');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    await code.fill(right);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  });

  it('runs no script that stands in its text, and the policy reports it', async () => {
    const page = await stage().newPage();
    await page.goto('/console/sign-in');
    await page.evaluate(`document.body.innerHTML = '<img src="data:," onerror="document.title = 1">'`);
    await page.waitForFunction('document.images[0].complete');
    await expect(page.title()).resolves.not.toBe('1');
    await eventually(() =>
      expect(stage().requireNoProblems).toThrow(/violation of the policy: script-src-attr blocks inline/),
    );
  });
});
