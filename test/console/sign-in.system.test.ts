// A user signs in at the console in a real browser: with and without a second factor, and after a new password by mail.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { linkDelivery } from '../../src/features/system-mail/service.ts';
import { mailResets } from '../../src/features/users/resets.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { checkAccessibility, submitLogin, useConsole } from '../support/console.ts';
import { builtConsole } from '../support/console-project.ts';
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
    const refused: string[] = [];
    page.on('response', (response) => {
      if (response.status() === 401) refused.push(new URL(response.url()).pathname);
    });
    await page.goto(`/console/brands/${brandId}`);
    await page.waitForURL(/\/console\/sign-in\?return_to=/);
    await checkAccessibility(page);
    expect(refused).toEqual(['/v1/my/session']);
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

  it('fails the check of these tests if it is not accessible', async () => {
    const page = await stage().newPage();
    await page.goto('/console/sign-in');
    await page.getByLabel('Email address').waitFor();
    await page.evaluate("document.querySelector('label').remove()");
    await expect(checkAccessibility(page)).rejects.toThrow(/not accessible.*\nlabel: /);
  });

  it('runs no script that stands in its text, and the policy reports it', async () => {
    const page = await stage().newPage();
    await page.goto('/console/sign-in');
    await page.evaluate(`document.body.innerHTML = '<img src="data:," onerror="document.title = 1">'`);
    await eventually(async () => expect(await page.evaluate('document.images[0].complete')).toBe(true));
    await expect(page.title()).resolves.not.toBe('1');
    await eventually(() =>
      expect(stage().requireNoProblems).toThrow(/violation of the policy: script-src-attr blocks inline/),
    );
  });
});

describe('a forgotten password', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startTestApi({ consoleFolder: await builtConsole() });
  });
  afterAll(() => api.close());

  /** The mail goes out as from a service that can send mail of its own. @returns the path of its link */
  async function mailedPath(): Promise<string> {
    const { pool } = api.database;
    const settings = { ...api.config, PUBLIC_URL: api.baseUrl, MAIL_DOMAIN: 'mail.test' };
    expect(await mailResets(pool, linkDelivery(settings))).toEqual({ taken: 1, mailed: 1 });
    const { rows } = await pool.query<{ text: string }>(
      'select text from message_contents order by message_id desc limit 1',
    );
    const link = /http\S+/.exec(rows[0]?.text ?? '')?.[0] ?? '';
    return new URL(link).pathname;
  }

  it('is replaced by the link of a mail, once, which ends all sessions', async () => {
    stage().allow(/status of (401|404)/);
    const { baseUrl, email } = api;
    const signedIn = await stage().newPage();
    await signedIn.goto(`${baseUrl}/console/sign-in`);
    await submitLogin(signedIn, email);
    await signedIn.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();

    const page = await stage().newPage();
    await page.goto(`${baseUrl}/console/sign-in`);
    await page.getByRole('link', { name: 'Forgot your password?' }).click();
    const send = page.getByRole('button', { name: 'Send the link' });
    // The page before has a field with the same name.
    await send.waitFor();
    await page.getByLabel('Email address').fill(email);
    await send.click();
    await page.getByText('Check your mailbox').waitFor();
    await checkAccessibility(page);

    const link = `${baseUrl}${await mailedPath()}`;
    await page.goto(link);
    await page.getByText(`For ${email}.`).waitFor();
    await checkAccessibility(page);
    await page.getByLabel('New password').fill('another good password');
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByText('The password is set').waitFor();
    await page.goto(link);
    await page.getByText('This link does not work').waitFor();

    await signedIn.reload();
    await signedIn.waitForURL(/sign-in/);
    await submitLogin(signedIn, email, 'another good password');
    await signedIn.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  });
});
